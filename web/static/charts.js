// The charts of the overview: the columns of its JSON as lines. The table below them has the same numbers.
(() => {
  "use strict";
  const holder = document.querySelector("[data-charts]");
  if (!holder) return;
  const plots = [...holder.querySelectorAll("[data-series]")];
  const probe = holder.appendChild(document.createElement("span"));
  const ink = (name) => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
  const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, notation: "compact" });
  let series = null;
  let drawn = [];

  const columns = (plot) => {
    const scale = plot.dataset.unit === "MB" ? 1e6 : 1;
    const names = plot.dataset.series.split(" ");
    return [series.at.map((ms) => ms / 1000), ...names.map((name) => series[name].map((value) => value === null ? null : value / scale))];
  };
  const time = (at) => new Date(at * 1000).toISOString().slice(11, 19);
  const say = (unit) => (_, value) => value == null ? "–" : `${short.format(value)} ${unit}`;

  const options = (plot) => {
    const axis = { stroke: ink("faint"), grid: { stroke: ink("line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    const unit = plot.dataset.unit;
    const inks = ["accent", "warn"];
    return {
      width: plot.clientWidth, height: 150, padding: [8, 28, 0, 0], // the last time on the axis is half beside it
      cursor: { y: false, drag: { x: false, y: false } },
      scales: { y: { range: (_, low, high) => unit === "MB" ? [Math.floor(low * 0.95), Math.max(high * 1.05, 1)] : [0, Math.max((high || 0) * 1.15, 1)] } },
      axes: [{ ...axis, space: 100, values: (_, ticks) => ticks.map((at) => `${time(at)} UTC`) },
        { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => say(unit)(_, tick)) }],
      series: [{ label: "UTC", value: (_, at) => at == null ? "–" : time(at) },
        ...plot.dataset.labels.split(" ").map((label, place) => ({ label, stroke: ink(inks[place]), width: 1.5, points: { show: false }, value: say(unit) }))],
    };
  };

  const draw = () => {
    drawn.forEach((chart) => chart.destroy());
    drawn = plots.map((plot) => new uPlot(options(plot), columns(plot), plot));
  };
  const show = (newest) => {
    series = newest;
    if (drawn.length) plots.forEach((plot, place) => drawn[place].setData(columns(plot)));
    else draw();
  };

  fetch(holder.dataset.charts).then((answer) => answer.ok ? answer.json() : null).then((overview) => overview && show(overview.series));
  document.addEventListener("series", (message) => show(JSON.parse(message.detail.data)));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => series && draw());
  new ResizeObserver(() => drawn.forEach((chart, place) => {
    if (chart.width !== plots[place].clientWidth) chart.setSize({ width: plots[place].clientWidth, height: 150 });
  })).observe(holder);
})();
