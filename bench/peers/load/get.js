// The k6 side of `cargo xtask bench load`: one GET after the other, as fast as answers come.
import http from 'k6/http';

export const options = {
  vus: Number(__ENV.USERS),
  duration: `${__ENV.SECONDS}s`,
  insecureSkipTLSVerify: true,
  discardResponseBodies: true,
};

export default function () {
  http.get(__ENV.URL);
}

export function handleSummary(data) {
  const failed = data.metrics.http_req_failed.values;
  return {
    stdout: `${JSON.stringify({
      per_second: data.metrics.http_reqs.values.rate,
      failed: failed.passes,
    })}\n`,
  };
}
