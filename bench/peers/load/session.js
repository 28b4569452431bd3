// The k6 side of the sessions row: log in, list, balance, vote, with values taken from answers and checks.
import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: Number(__ENV.USERS), duration: `${__ENV.SECONDS}s` };

export default function () {
  const login = http.post(`${__ENV.URL}/login`, JSON.stringify({ user: `user-${__VU}` }), {
    headers: { 'Content-Type': 'application/json' },
  });
  check(login, { 'status is 200': (answer) => answer.status === 200 });
  const token = login.json('token');
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };

  const list = http.get(`${__ENV.URL}/candidates`, { headers });
  check(list, { 'status is 200': (answer) => answer.status === 200 });
  const candidate = list.json('candidates.1.id');

  const balance = http.get(`${__ENV.URL}/balance`, { headers });
  check(balance, {
    'status is 200': (answer) => answer.status === 200,
    'there is credit': (answer) => answer.json('balance') > 0,
  });

  const vote = http.post(`${__ENV.URL}/vote`, JSON.stringify({ candidate }), { headers });
  check(vote, {
    'status is 200': (answer) => answer.status === 200,
    'the vote counts': (answer) => answer.json('ok') === true,
  });
}

export function handleSummary(data) {
  return {
    stdout: `${JSON.stringify({
      per_second: data.metrics.iterations.values.rate,
      failed: data.metrics.checks.values.fails,
    })}\n`,
  };
}
