// A small line chart over the last two minutes, drawn when a point comes.
//
// Series differ by dash as well as by colour. Gaps stay gaps: a second without deliveries has no latency.

const POINTS_MAX = 120;

/** The next of 1, 2, 5, 10, 20, ... that is not below `value`. */
function niceTop(value) {
  const scale = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * scale).find((top) => top >= value * 0.999);
}

export class Chart {
  /**
   * `series`: [{ colour: "--ice", dash: [], fill: true }]; `scale`: "linear" or "log"; `format`: number to text;
   * `pointsMax`: how many fill the width.
   */
  constructor(canvas, { series, scale = "linear", format, floor = 1, pointsMax = POINTS_MAX }) {
    Object.assign(this, { canvas, series, scale, format, floor, pointsMax });
    this.points = [];
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  /** Replaces all points; each is a list with one number or null for each series. */
  set(points) {
    this.points = points.slice(-this.pointsMax);
    this.draw();
  }

  add(point) {
    this.points.push(point);
    if (this.points.length > this.pointsMax) this.points.shift();
    this.draw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const known = this.points.flat().filter((value) => value !== null);
    let bottom = 0, top = niceTop(Math.max(this.floor, ...known));
    if (this.scale === "log") {
      const positive = known.filter((value) => value > 0);
      bottom = Math.log10(Math.min(0.1, ...positive.map((value) => 10 ** Math.floor(Math.log10(value)))));
      top = Math.log10(top);
    }
    const y = (value) => {
      const v = this.scale === "log" ? Math.log10(Math.max(value, 10 ** bottom)) : value;
      return 4 + (height - 8) * (1 - (v - bottom) / (top - bottom || 1));
    };
    const label = 46;
    const x = (index) => (width - label) * ((index + this.pointsMax - this.points.length) / (this.pointsMax - 1));
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    const marks = this.scale === "log" ? decades(bottom, top) : [0, top / 2, top];
    for (const mark of marks) {
      context.strokeStyle = colour("--edge");
      context.lineWidth = 1;
      context.setLineDash([]);
      context.beginPath();
      context.moveTo(0, Math.round(y(mark)) + 0.5);
      context.lineTo(width - label + 2, Math.round(y(mark)) + 0.5);
      context.stroke();
      context.fillStyle = colour("--muted");
      context.fillText(this.format(mark), width - 1, Math.min(height - 6, Math.max(6, y(mark))));
    }
    this.series.forEach((line, which) => {
      context.strokeStyle = colour(line.colour);
      context.lineWidth = 2;
      context.lineJoin = "round";
      context.setLineDash(line.dash ?? []);
      for (const run of runs(this.points, which)) {
        context.beginPath();
        run.forEach((index, i) => context[i ? "lineTo" : "moveTo"](x(index), y(this.points[index][which])));
        if (run.length === 1) context.lineTo(x(run[0]) + 2, y(this.points[run[0]][which]));
        context.stroke();
        if (line.fill) {
          const shade = context.createLinearGradient(0, 0, 0, height);
          shade.addColorStop(0, colour(line.colour));
          shade.addColorStop(1, `${colour(line.colour)}00`);
          context.lineTo(x(run.at(-1)), height - 4);
          context.lineTo(x(run[0]), height - 4);
          context.globalAlpha = 0.22;
          context.fillStyle = shade;
          context.fill();
          context.globalAlpha = 1;
        }
      }
    });
  }
}

function decades(bottom, top) {
  const marks = [];
  const step = Math.max(1, Math.ceil((top - bottom) / 3));
  for (let power = bottom; power <= top + 0.001; power += step) marks.push(10 ** power);
  return marks;
}

/** The stretches of points where the series has a value, as lists of indexes. */
function runs(points, which) {
  const found = [];
  let run = [];
  points.forEach((point, index) => {
    if (point[which] !== null) run.push(index);
    else if (run.length) { found.push(run); run = []; }
  });
  if (run.length) found.push(run);
  return found;
}
