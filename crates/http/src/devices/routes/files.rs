//! Devices in files: import and export, CSV and NDJSON.
//!
//! An export can be imported: fields that the server makes itself, such as when a device was seen
//! last, are ignored then.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};

use crate::devices::export::{Export, What};
use crate::devices::import;
use crate::devices::import::{Format, ImportReport};
use crate::devices::selection::audience;
use crate::platform::app_name;
use crate::platform::problems::{PlatformLookProblems, PlatformProblems};
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::problem::Problem;
use crate::request::query::{Name, Query};

/// The values of `format`.
const FORMATS: [(&str, Format); 2] = [("csv", Format::Csv), ("ndjson", Format::Ndjson)];

/// Registers all devices of a file, however long, or changes those that are known.
///
/// CSV has a heading: `device` and any of `platform`, `app_version`, `language`, `country`, `time_zone`, `named_user`, `opt_in`, `quiet_hours`
/// (`22:00-07:00`), `latitude`, `longitude`, `tags` and `lists` (apart by `;`), `text:NAME`, `number:NAME`, `date:NAME`; an empty cell leaves what is known.
/// NDJSON has on each line what `POST /api/apps/{app}/devices` has of a device. A record that is
/// wrong is skipped and reported.
#[utoipa::path(post, operation_id = "import_devices", path = "/api/apps/{app}/devices/import", tag = "Push platform",
    extensions(("x-right" = json!("device.write:{app}/*"))),
    request_body(content((String = "text/csv"), (String = "application/x-ndjson"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("format" = Option<String>, Query, description = "`csv` or `ndjson`; `csv` by default.")),
    responses((status = 200, description = "What became of it.", body = ImportReport), PlatformProblems))]
pub(crate) async fn import(
    caller: Caller,
    State(app): State<Arc<App>>,
    Name(name): Name,
    request: Request,
) -> Result<Json<ImportReport>, Problem> {
    let name = app_name(&name)?;
    let format = Query::read(request.uri(), &["format"])?.one_of("format", &FORMATS)?;
    tracing::info!(app = name.as_str(), by = caller.key_id(), "Devices are imported");
    import::run(&app, &name, format, request.into_body()).await.map(Json)
}

/// All devices, or those of an audience, as a file however long.
///
/// A file that breaks off ends the connection early. CSV has a column for each attribute and type that devices have.
#[utoipa::path(get, operation_id = "export_devices", path = "/api/apps/{app}/devices/export", tag = "Push platform",
    extensions(("x-right" = json!("device.read:{app}/*"))),
    params(("app" = String, Path, description = "The app.", example = "default"),
           ("format" = Option<String>, Query, description = "`csv` or `ndjson`; `csv` by default."),
           ("named_user" = Option<String>, Query, description = "Only devices of this named user."),
           ("audience" = Option<String>, Query, description = "Only devices that this selector means, as JSON.")),
    responses((status = 200, description = "The devices, by id.", content((String = "text/csv"), (String = "application/x-ndjson")),
               headers(("Content-Disposition" = String, description = "`attachment` with a file name."))),
              (status = 431, description = "The path, the query and the headers have more than 16 KiB; without a body."),
              PlatformLookProblems))]
pub(crate) async fn export(
    _: Caller,
    State(app): State<Arc<App>>,
    Name(name): Name,
    uri: Uri,
) -> Result<Response, Problem> {
    let name = app_name(&name)?;
    let query = Query::read(&uri, &["format", "named_user", "audience"])?;
    let format = query.one_of("format", &FORMATS)?;
    let file = format!("devices-{name}");
    let what = What::Devices(audience(&query)?);
    attachment(Export { app, of: name, format, what, after: None }, &file).await
}

/// An export as a file of this name.
pub(crate) async fn attachment(export: Export, file: &str) -> Result<Response, Problem> {
    let (kind, ending) = match export.format {
        Format::Csv => ("text/csv; charset=utf-8", "csv"),
        Format::Ndjson => ("application/x-ndjson", "ndjson"),
    };
    let disposition = format!("attachment; filename=\"{file}.{ending}\"");
    let disposition =
        HeaderValue::from_str(&disposition).expect("names of apps and pushes have letters and few signs");
    let headers =
        [(header::CONTENT_TYPE, HeaderValue::from_static(kind)), (header::CONTENT_DISPOSITION, disposition)];
    Ok((headers, export.begin().await?).into_response())
}
