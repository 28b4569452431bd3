// The stands: seats around a pitch. A seat is lit for each group of connected devices, and flashes for deliveries.
//
// Nothing is drawn while nothing changes. With reduced motion the seats show who is connected and never flash.

const NICE = [1, 2, 5];

/** How many devices one light stands for, so that `devices` fit `seats`. */
export function devicesPerLight(devices, seats) {
  for (let scale = 1; ; scale *= 10) {
    for (const step of NICE) if (step * scale * seats >= devices) return step * scale;
  }
}

// A small seeded generator: the same seats light up first on every visit.
function random(seed) {
  return () => {
    seed = (seed * 1664525 + 1013904223) >>> 0;
    return seed / 4294967296;
  };
}

export class Lights {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    this.seats = [];
    this.lit = 0;
    this.devices = 0;
    this.perLight = 1;
    this.due = 0;
    this.last = 0;
    this.frame = 0;
    new ResizeObserver(() => this.lay()).observe(canvas);
    this.lay();
  }

  /** Takes the colours of the theme in use. */
  recolour() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    this.colours = { off: colour("--seat"), on: colour("--seat-on"), flash: colour("--flash"), spark: colour("--spark"), grass: colour("--grass") };
    this.halo = Number(colour("--halo")) || 1;
    const size = 32;
    const glow = document.createElement("canvas");
    glow.width = glow.height = size;
    const context = glow.getContext("2d");
    const shade = context.createRadialGradient(size / 2, size / 2, 0, size / 2, size / 2, size / 2);
    shade.addColorStop(0, this.colours.flash);
    shade.addColorStop(0.25, this.colours.spark);
    shade.addColorStop(1, `${this.colours.spark}00`); // not "transparent", whose black would show
    context.fillStyle = shade;
    context.fillRect(0, 0, size, size);
    this.glow = glow;
    this.wake();
  }

  lay() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const small = width < 640;
    this.small = small;
    const rows = small ? 7 : 11;
    const centre = { x: width / 2, y: (height - 36) / 2 };
    const outer = { x: width / 2 - (small ? 10 : 26), y: (height - 36) / 2 - (small ? 12 : 16) };
    const inner = { x: outer.x * (small ? 0.68 : 0.56), y: outer.y * (small ? 0.58 : 0.5) };
    this.pitch = { centre, x: inner.x - (small ? 9 : 16), y: inner.y - (small ? 9 : 16) };
    this.seats = [];
    for (let row = 0; row < rows; row += 1) {
      const t = (row + (row >= rows / 2 ? 0.55 : 0)) / (rows - 0.45); // a gangway between two tiers
      const x = inner.x + (outer.x - inner.x) * t;
      const y = inner.y + (outer.y - inner.y) * t;
      const around = Math.PI * (3 * (x + y) - Math.sqrt((3 * x + y) * (x + 3 * y)));
      const count = Math.floor(around / (small ? 9.5 : 12.5));
      // Equal steps along the ellipse, not in angle: seats are equally wide.
      let angle = 0;
      for (let seat = 0; seat < count; seat += 1) {
        const dx = x * Math.sin(angle), dy = y * Math.cos(angle);
        const block = ((angle / (2 * Math.PI)) * 16) % 1;
        if (block > 0.035) {
          this.seats.push({
            x: centre.x + x * Math.cos(angle), y: centre.y + y * Math.sin(angle),
            size: (small ? 1.35 : 1.7) + t * (small ? 0.5 : 0.9), angle, energy: 0,
          });
        }
        angle += around / count / Math.hypot(dx, dy);
        if (angle >= 2 * Math.PI) break;
      }
    }
    const chance = random(7);
    for (let i = this.seats.length - 1; i > 0; i -= 1) {
      const j = Math.floor(chance() * (i + 1));
      [this.seats[i], this.seats[j]] = [this.seats[j], this.seats[i]];
    }
    if (!this.colours) this.recolour();
    this.show(this.devices);
    this.draw(0);
  }

  /** So many devices are connected. */
  show(devices) {
    this.devices = devices;
    this.perLight = devicesPerLight(devices, this.seats.length || 1);
    this.lit = Math.min(this.seats.length, Math.ceil(devices / this.perLight));
    this.wave = this.seats.slice(0, this.lit).sort((a, b) => a.angle - b.angle);
    this.wake();
  }

  /** So many deliveries happen in the next second: they flash somewhere, spread over it. */
  deliver(perSecond) {
    if (this.calm.matches || !this.lit) return;
    this.due = Math.min(this.lit * 1.2, Math.ceil(perSecond / this.perLight));
    this.until = performance.now() + 1000;
    this.wake();
  }

  /** A push came from one part of its audience to another: those seats flash, round the stands. */
  light(from, to) {
    if (this.calm.matches || !this.lit) return;
    const first = Math.floor(from * this.wave.length), end = Math.ceil(to * this.wave.length);
    for (let i = first; i < end; i += 1) this.wave[i].energy = 1.35 + (0.6 * (i - first)) / Math.max(1, end - first);
    this.wake();
  }

  wake() {
    if (!this.frame) this.frame = requestAnimationFrame((now) => this.turn(now));
  }

  turn(now) {
    this.frame = 0;
    const passed = Math.min(0.1, (now - (this.last || now)) / 1000);
    this.last = now;
    if (this.due > 0) {
      const left = Math.max(0.016, (this.until - now) / 1000);
      let count = Math.min(this.due, (this.due * passed) / left);
      count = Math.floor(count) + (Math.random() < count % 1 ? 1 : 0);
      this.due -= count;
      if (now > this.until) this.due = 0;
      for (; count > 0; count -= 1) this.seats[Math.floor(Math.random() * this.lit)].energy = 1;
    }
    const alive = this.draw(passed);
    if (alive || this.due > 0) this.wake();
    else this.last = 0;
  }

  draw(passed) {
    const { context, colours, seats } = this;
    if (!colours || !this.pitch) return false;
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const { centre, x, y } = this.pitch;
    context.lineWidth = 1.2;
    context.strokeStyle = colours.grass;
    context.globalAlpha = 0.38;
    context.beginPath();
    context.ellipse(centre.x, centre.y, x, y, 0, 0, 2 * Math.PI);
    context.stroke();
    context.fillStyle = colours.grass;
    context.globalAlpha = 0.055;
    context.fill();
    let alive = false;
    const half = Math.exp(-passed * 3.2);
    for (let i = 0; i < seats.length; i += 1) {
      const seat = seats[i];
      const on = i < this.lit;
      context.globalAlpha = on ? 0.92 : 0.55;
      context.fillStyle = on ? colours.on : colours.off;
      context.beginPath();
      context.arc(seat.x, seat.y, seat.size, 0, 7);
      context.fill();
      if (seat.energy > 0.02) {
        const strength = Math.min(1, seat.energy), radius = seat.size * (2 + (this.small ? 1.4 : 2.8) * strength);
        context.globalAlpha = strength * this.halo;
        context.drawImage(this.glow, seat.x - radius, seat.y - radius, radius * 2, radius * 2);
        context.globalAlpha = strength;
        context.fillStyle = colours.flash;
        context.beginPath();
        context.arc(seat.x, seat.y, seat.size * 1.1, 0, 7);
        context.fill();
        seat.energy *= half;
        alive = true;
      } else seat.energy = 0;
    }
    context.globalAlpha = 1;
    return alive;
  }
}
