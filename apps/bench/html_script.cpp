#include "apps/bench/html_page.hpp"

namespace penstock::apps::bench {

namespace {

// `plots` is there already. points: at, gap, request of each token; prompts: from, to, tokens.
constexpr std::string_view script = R"('use strict';
const margin = {left: 62, right: 12, top: 8, bottom: 42};
let scale = document.getElementById('log');
let range = null; // Of time, in ms; the same in all plots. null: all of it.
let gapMax = 1, gapMin = 1e9, end = 1;
for (const plot of plots) {
  for (let i = 0; i < plot.points.length; i += 3) {
    end = Math.max(end, plot.points[i]);
    gapMax = Math.max(gapMax, plot.points[i + 1]);
    if (plot.points[i + 1] > 0) gapMin = Math.min(gapMin, plot.points[i + 1]);
  }
  for (let i = 0; i < plot.prompts.length; i += 3) end = Math.max(end, plot.prompts[i + 1]);
}
gapMin = Math.max(Math.min(gapMin, gapMax / 10), gapMax / 1e5);

function steps(low, high, count) {
  const rough = (high - low) / count, unit = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map(f => f * unit).find(s => s >= rough) || 10 * unit;
  const out = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step / 1e6; v += step) out.push(v);
  return out;
}

function frame(canvas) {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  const [from, to] = range || [0, end];
  const inner = {w: width - margin.left - margin.right, h: height - margin.top - margin.bottom};
  const logs = [Math.log(gapMin), Math.log(gapMax * 1.15)];
  return {
    width, height, inner, from, to,
    x: at => margin.left + (at - from) / (to - from) * inner.w,
    at: x => from + (x - margin.left) / inner.w * (to - from),
    y: gap => {
      const share = scale.checked
        ? (Math.log(Math.max(gap, gapMin)) - logs[0]) / (logs[1] - logs[0])
        : gap / (gapMax * 1.05);
      return margin.top + inner.h * (1 - share);
    },
  };
}

function axes(context, f, color) {
  context.font = '12px system-ui, sans-serif';
  context.fillStyle = color('--dim');
  context.strokeStyle = color('--faint');
  context.lineWidth = 1;
  let marks = steps(0, gapMax * 1.05, 5);
  if (scale.checked) {
    marks = [];
    for (let e = Math.ceil(Math.log10(gapMin)); Math.pow(10, e) <= gapMax; ++e)
      marks.push(Math.pow(10, e));
  }
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (const gap of marks) {
    const y = Math.round(f.y(gap)) + 0.5;
    context.beginPath();
    context.moveTo(margin.left, y);
    context.lineTo(f.width - margin.right, y);
    context.stroke();
    context.fillText(Number(gap.toPrecision(6)) + ' ms', margin.left - 6, y);
  }
  context.textAlign = 'center';
  context.textBaseline = 'top';
  for (const at of steps(f.from, f.to, 8))
    context.fillText(Number((at / 1000).toPrecision(6)) + ' s', f.x(at), f.height - 18);
}

function draw(canvas) {
  const plot = plots[canvas.dataset.plot], ratio = window.devicePixelRatio || 1;
  const f = frame(canvas), context = canvas.getContext('2d');
  const colors = getComputedStyle(document.documentElement);
  const color = name => colors.getPropertyValue(name).trim();
  canvas.width = f.width * ratio;
  canvas.height = f.height * ratio;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  axes(context, f, color);
  context.save();
  context.beginPath();
  context.rect(margin.left, 0, f.inner.w, f.height);
  context.clip();
  const bottom = margin.top + f.inner.h;
  context.fillStyle = color('--prompt');
  let most = 1;
  for (let i = 2; i < plot.prompts.length; i += 3) most = Math.max(most, plot.prompts[i]);
  for (let i = 0; i < plot.prompts.length; i += 3) {
    const x = f.x(plot.prompts[i]), width = Math.max(f.x(plot.prompts[i + 1]) - x, 1.5);
    const crowd = Math.max(1, plot.prompts.length / 30);
    context.globalAlpha = 0.14 / crowd;
    context.fillRect(x, margin.top, width, f.inner.h);
    context.globalAlpha = 0.8 / Math.sqrt(crowd);
    const height = 3 + 9 * plot.prompts[i + 2] / most;
    context.fillRect(x, bottom + 18 - height, width, height);
  }
  context.fillStyle = color('--point');
  context.globalAlpha = plot.points.length > 9000 ? 0.35 : 0.65;
  for (let i = 0; i < plot.points.length; i += 3) {
    if (plot.points[i] >= f.from && plot.points[i] <= f.to)
      context.fillRect(f.x(plot.points[i]) - 1.25, f.y(plot.points[i + 1]) - 1.25, 2.5, 2.5);
  }
  context.restore();
}

const canvases = [...document.querySelectorAll('canvas')];
const drawAll = () => canvases.forEach(draw);

function nearest(plot, f, x, y) {
  let best = null, least = 225;
  for (let i = 0; i < plot.points.length; i += 3) {
    const far = (f.x(plot.points[i]) - x) ** 2 + (f.y(plot.points[i + 1]) - y) ** 2;
    if (far < least) { least = far; best = i; }
  }
  return best;
}

for (const canvas of canvases) {
  const plot = plots[canvas.dataset.plot], out = canvas.nextElementSibling;
  let pressed = null;
  canvas.onmousedown = e => { pressed = e.offsetX; };
  canvas.onmousemove = e => {
    const i = nearest(plot, frame(canvas), e.offsetX, e.offsetY);
    out.textContent = i === null ? '' : 'request ' + plot.points[i + 2] + ': a token at '
      + (plot.points[i] / 1000).toFixed(3) + ' s, ' + plot.points[i + 1]
      + ' ms after the one before';
  };
  canvas.onmouseup = e => {
    const f = frame(canvas), from = pressed;
    pressed = null;
    if (from === null || Math.abs(e.offsetX - from) < 5) return;
    const ends = [f.at(from), f.at(e.offsetX)].sort((a, b) => a - b);
    range = [Math.max(0, ends[0]), Math.min(end, ends[1])];
    drawAll();
  };
  canvas.ondblclick = () => { range = null; drawAll(); };
}
if (scale) scale.onchange = drawAll;
window.onresize = drawAll;
window.matchMedia('(prefers-color-scheme: dark)').onchange = drawAll;
drawAll();
)";

} // namespace

std::string_view plot_script() noexcept {
  return script;
}

} // namespace penstock::apps::bench
