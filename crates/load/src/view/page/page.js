// Draws a run from server-sent events. Figures come ready; only their spelling and the lines are made here.
'use strict';
const $ = (id) => document.getElementById(id);
const make = (name, attributes = {}, text) => {
  const svg = ['svg', 'path', 'line'].includes(name);
  const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
};

// Spelling: three digits that mean something, a unit always.
const digits = (value) => {
  const size = Math.abs(value);
  if (size >= 99.95) return Math.round(value).toLocaleString('en');
  const places = size === 0 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  return String(Number(value.toFixed(places)));
};
const compact = (value) => value >= 1e6 ? digits(value / 1e6) + ' M' : value >= 1e4 ? digits(value / 1e3) + ' k' : digits(value);
const count = (value) => Math.round(value).toLocaleString('en');
const rate = (value) => compact(value) + '/s';
const time = (ms) => ms == null ? '–' : ms < 0.9995 ? digits(ms * 1e3) + ' µs' : ms < 999.5 ? digits(ms) + ' ms' : digits(ms / 1e3) + ' s';
const share = (value) => digits(value * 100) + '%';
const clock = (seconds) => {
  const whole = Math.max(0, Math.round(seconds)), pad = (number) => String(number).padStart(2, '0');
  const hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60;
  return hours ? `${hours}:${pad(minutes)}:${pad(whole % 60)}` : `${minutes}:${pad(whole % 60)}`;
};

let plan = null, points = [], now = null, heard = 0, over = false, hover = null;

const ceiling = (value) => {
  const size = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((step) => step * size).find((step) => step >= value * 0.999999);
};
// Places of values on an axis, 0 at its foot and 1 at its top, with its ticks.
const linear = (values, spell, least) => {
  const top = ceiling(Math.max(least, ...values));
  return { place: (value) => value / top, ticks: [0, top / 2, top].map((value) => [value / top, spell(value)]) };
};
const decades = (values, spell) => {
  let low = Math.floor(Math.log10(Math.max(1e-3, Math.min(...values))));
  let high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(1e-3, ...values))));
  const step = Math.ceil((high - low) / 5), ticks = [];
  for (let power = low; power <= high; power += step) ticks.push([(power - low) / (high - low), spell(10 ** power)]);
  return { place: (value) => (Math.log10(Math.max(value, 1e-3)) - low) / (high - low), ticks };
};

// A plot: lines of [name, class, value of a point, spelling].
const plot = (name, lines, axis, spell, least = 1) => {
  const box = $('p-' + name), keys = $('k-' + name);
  const used = lines.filter(([, , of]) => points.some((point) => of(point) != null));
  const shown = hover === null ? points[points.length - 1] : points[hover];
  keys.replaceChildren(...used.map(([title, style, of, own]) => {
    const key = make('span', { class: style }, title + ' ');
    const value = of(shown);
    key.append(make('b', {}, value == null ? '–' : (own || spell)(value)));
    return key;
  }));
  box.replaceChildren();
  const values = used.flatMap(([, , of]) => points.map(of)).filter((value) => value != null);
  if (!values.length) { box.append(make('p', { class: 'none' }, 'Nothing yet')); return; }
  const { place, ticks } = axis === 'decades' ? decades(values, spell) : linear(values, spell, least);
  const from = points[0].at_s - points[0].length_s, to = points[points.length - 1].at_s;
  const x = (at) => (at - from) / Math.max(to - from, 1e-9) * 1000, y = (value) => 1000 - place(value) * 1000;
  const svg = make('svg', { viewBox: '0 0 1000 1000', preserveAspectRatio: 'none', role: 'img', 'aria-label': used.map(([title]) => title).join(', ') });
  for (const [at] of ticks) svg.append(make('line', { class: 'grid', x1: 0, x2: 1000, y1: 1000 - at * 1000, y2: 1000 - at * 1000, 'vector-effect': 'non-scaling-stroke' }));
  for (const [, style, of] of used) {
    let path = '', pen = false;
    for (const point of points) {
      const value = of(point);
      if (value == null) { pen = false; continue; }
      // A lone point between gaps is a short stroke, so that it is seen.
      path += pen ? `L${x(point.at_s).toFixed(1)} ${y(value).toFixed(1)}` : `M${x(point.at_s - point.length_s / 2).toFixed(1)} ${y(value).toFixed(1)}L${x(point.at_s).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = true;
    }
    svg.append(make('path', { class: style, d: path }));
  }
  if (hover !== null) svg.append(make('line', { class: 'cross', x1: x(shown.at_s), x2: x(shown.at_s), y1: 0, y2: 1000, 'vector-effect': 'non-scaling-stroke' }));
  box.append(svg);
  const left = box.clientWidth < 400 || matchMedia('(max-width: 900px)').matches ? 54 : 62;
  for (const [at, text] of ticks) {
    const tick = make('span', { class: 'y' }, text);
    tick.style.top = `${8 + (1 - at) * (box.clientHeight - 32)}px`;
    box.append(tick);
  }
  for (const part of [0, 0.5, 1]) {
    const tick = make('span', { class: 'x' }, clock(from + (to - from) * part));
    tick.style.left = `calc(${left}px + (100% - ${left}px) * ${part} - ${part * 14}px)`;
    box.append(tick);
  }
};

const draw = () => {
  if (!points.length) return;
  const requests = points.some((point) => point.offered > 0 || point.response), messages = points.some((point) => point.messages > 0);
  const asRequests = requests || !messages;
  $('h-rate').textContent = asRequests ? 'Requests a second' : 'Messages a second';
  $('h-times').textContent = asRequests ? 'Response time' : 'Latency of messages';
  const of = (name) => (point) => (asRequests ? point.response : point.message)?.[name];
  plot('rate', [
    ['offered', 'dash c-ice', (point) => asRequests ? point.offered : null],
    ['answered', 'c-grass', (point) => asRequests ? point.answered : null],
    ['messages', 'c-lamp', (point) => messages ? point.messages : null],
    ['failed', 'dash c-alarm', (point) => points.some((one) => one.failed > 0) ? point.failed : null],
  ], 'linear', rate);
  plot('times', [['p50', 'c-ice', of('p50')], ['p99', 'c-lamp', of('p99')], ['longest', 'dash c-alarm', of('max')]], 'decades', time);
  const devices = points.some((point) => point.devices > 0);
  $('h-users').textContent = devices ? 'Users and devices' : 'Users';
  plot('users', [['users', 'c-ice', (point) => point.users], ['devices', 'dash c-grass', (point) => devices ? point.devices : null]], 'linear', compact);
  plot('own', [['busiest loop', 'c-ice', (point) => point.busy], ['machine', 'dash c-grass', (point) => point.machine_busy], ['steal', 'c-alarm', (point) => point.steal]], 'linear', share, 1);
  const last = points[points.length - 1], times = asRequests ? last.response : last.message;
  $('s-rate').textContent = rate(asRequests ? last.answered : last.messages);
  $('s-p50').textContent = time(times?.p50);
  $('s-p99').textContent = time(times?.p99);
  $('s-max').textContent = time(times?.max);
  $('s-who').textContent = last.devices > last.users ? 'Devices' : 'Users';
  $('s-users').textContent = count(Math.max(last.devices, last.users));
  if (over) showWhole();
};

// What the last second was says little once all is over: the figures above the plots are the run's then.
const showWhole = () => {
  if (now?.total) {
    $('s-rate').textContent = count(now.answered);
    $('s-p50').textContent = time(now.total.p50);
    $('s-p99').textContent = time(now.total.p99);
    $('s-max').textContent = time(now.total.max);
  }
  $('s-users').textContent = count(points.reduce((most, point) => Math.max(most, point.devices, point.users), 0));
  $('s-who').textContent = points.some((point) => point.devices > point.users) ? 'Most devices' : 'Most users';
};

const showNow = () => {
  const failed = now.errors.reduce((sum, [, number]) => sum + number, 0);
  $('s-failed').textContent = failed ? `! ${count(failed)}` : 'none';
  $('s-failed').className = failed ? 'bad' : '';
  $('steps').replaceChildren(...now.steps.map((step) => {
    const row = make('tr'), name = make('td', { class: 'wrap' }, `${step.session} / ${step.name} `);
    name.append(make('small', {}, step.protocol));
    row.append(name, make('td', {}, count(step.answered)));
    for (const key of ['p50', 'p99', 'max']) row.append(make('td', {}, time(step.times?.[key])));
    row.append(make('td', step.failed ? { class: 'bad' } : {}, count(step.failed)));
    return row;
  }));
  $('errors').replaceChildren(...now.errors.map(([kind, number]) => {
    const row = make('tr');
    row.append(make('td', { class: 'wrap' }, kind), make('td', { class: 'bad' }, count(number)));
    return row;
  }));
  $('no-errors').hidden = failed > 0;
  $('signs').replaceChildren(...now.signs.map((sign) => make('li', sign.bad ? { class: 'bad' } : {}, sign.text)));
};

const showPlan = () => {
  document.title = `${plan.name} · Stadium load`;
  $('name').textContent = plan.name;
  $('phases').replaceChildren(...plan.phases.map((phase) => {
    const box = make('div', { class: 'phase', title: `${phase.name}: ${phase.arrivals}` }), bar = make('div');
    box.style.flex = `${Math.max(phase.to_s - phase.from_s, plan.planned_s / 40)} 1 0`;
    bar.append(make('i'));
    box.append(bar, make('p', {}, `${phase.name} · ${phase.arrivals}`));
    return box;
  }));
};

const tick = () => {
  if (!plan || !now) return;
  const elapsed = over ? now.elapsed_s : now.elapsed_s + Math.min(2, (performance.now() - heard) / 1000);
  $('elapsed').textContent = clock(elapsed);
  $('left').textContent = over ? '' : elapsed < plan.planned_s ? `of ${clock(plan.planned_s)}, ${clock(plan.planned_s - elapsed)} left` : 'users finish';
  [...$('phases').children].forEach((box, index) => {
    const phase = plan.phases[index], done = (elapsed - phase.from_s) / Math.max(phase.to_s - phase.from_s, 1e-9);
    box.classList.toggle('on', !over && done >= 0 && done < 1);
    box.querySelector('i').style.width = `${Math.min(1, Math.max(0, done)) * 100}%`;
  });
};

const state = (name, text) => { $('state').dataset.state = name; $('state-text').textContent = text; };

const showEnd = (end) => {
  over = true;
  const failed = end.outcome && end.outcome.failed;
  const name = failed ? 'failed' : end.outcome === 'interrupted' ? 'interrupted' : 'completed';
  state(name, { failed: 'Failed', interrupted: 'Interrupted', completed: 'Completed' }[name]);
  $('verdict').hidden = false;
  const [said, mood] = !end.passed ? ['✗ The run did not pass', 'bad']
    : end.thresholds.length ? ['✓ The run passed', 'good'] : ['No thresholds were set', ''];
  $('h-verdict').textContent = said;
  $('h-verdict').className = mood;
  const reasons = [];
  if (failed) reasons.push(failed.reason);
  if (end.outcome === 'interrupted') reasons.push('Somebody ended it early: the figures are those until then.');
  for (const threshold of end.thresholds) reasons.push(`${threshold.passed ? '✓' : '✗'} ${threshold.text}: ${threshold.observed}`);
  reasons.push(...end.doubts);
  $('reasons').replaceChildren(...reasons.map((text) => make('li', {}, text)));
};

const listen = () => {
  const source = new EventSource('/events'), on = (name, act) => source.addEventListener(name, (event) => act(JSON.parse(event.data)));
  source.onopen = () => state('running', 'Running');
  source.onerror = () => { if (!over) state('lost', 'Not reached'); };
  on('plan', (data) => { plan = data; showPlan(); tick(); });
  on('series', (data) => { points = data; hover = null; draw(); });
  on('point', (data) => {
    points.push(data);
    draw();
    // The server has the whole run in fewer points: ask again rather than grow for ever.
    if (points.length > 4000) { source.close(); listen(); }
  });
  on('now', (data) => { now = data; heard = performance.now(); showNow(); tick(); });
  on('end', (data) => { source.close(); showEnd(data); draw(); tick(); });
};

const point = (event) => {
  const box = event.target.closest('.plot');
  const before = hover;
  hover = null;
  if (box && points.length > 1 && event.type !== 'pointerleave') {
    const left = matchMedia('(max-width: 900px)').matches ? 54 : 62, area = box.getBoundingClientRect();
    const part = (event.clientX - area.left - left) / (area.width - left);
    const from = points[0].at_s - points[0].length_s, at = from + (points[points.length - 1].at_s - from) * part;
    if (part >= 0 && part <= 1) hover = points.findIndex((one) => one.at_s >= at);
    if (hover < 0) hover = null;
  }
  if (hover !== before) draw();
};
addEventListener('pointermove', point);
document.documentElement.addEventListener('pointerleave', point);
addEventListener('resize', draw);
$('theme').onclick = () => {
  const root = document.documentElement, light = root.dataset.theme ? root.dataset.theme === 'light' : matchMedia('(prefers-color-scheme: light)').matches;
  root.dataset.theme = light ? 'dark' : 'light';
};
setInterval(tick, 250);
listen();
