//! A result without secrets: what is secret is `stadium_scenario`'s to know, where texts are is `stadium_report`'s.

use stadium_report::RunResult;
use stadium_scenario::secret::Secrets;

/// Hides the secrets in all texts of a result. A secret that is hidden already stays as it is.
pub fn conceal(result: &mut RunResult, secrets: &Secrets) {
    result.scenario = secrets.scenario(&result.scenario);
    result.command = secrets.command(&result.command);
    result.change_texts(&mut |text| secrets.text(text));
}
