import uPlot from 'uplot';

const HEIGHT_PX = 260;
const numbers = new Intl.NumberFormat('en', { maximumSignificantDigits: 5 });

/** A chart of the depth of a market: bids and asks as steps, and dashed what is stale besides. */
export function openDepthChart(target: HTMLElement): (series: [number[], ...(number | null)[][]]) => void {
  let chart: uPlot | undefined;
  let shown: uPlot.AlignedData = [[], [], [], [], []];
  const draw = () => {
    chart?.destroy();
    chart = new uPlot(optionsOf(target), shown, target);
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  new ResizeObserver(() => {
    if (target.clientWidth > 0) chart?.setSize({ width: target.clientWidth, height: HEIGHT_PX });
  }).observe(target);
  return (series) => {
    if (JSON.stringify(series) === JSON.stringify(shown)) return;
    shown = series;
    if (chart === undefined) draw();
    else chart.setData(shown);
  };
}

function optionsOf(target: HTMLElement): uPlot.Options {
  const style = getComputedStyle(target);
  // A variable has its text, and a property the color that it stands for now.
  const color = (name: string) => {
    target.style.color = `var(${name})`;
    return style.color;
  };
  const line = (label: string, name: string, align: 1 | -1, isFresh: boolean): uPlot.Series => ({
    label,
    stroke: color(name),
    width: 2,
    spanGaps: true,
    points: { show: false },
    ...(isFresh ? { fill: color(`${name}-fill`) } : { dash: [5, 4], width: 1.5 }),
    ...(uPlot.paths.stepped && { paths: uPlot.paths.stepped({ align }) }),
  });
  const axis = (size: number): uPlot.Axis => ({
    size,
    stroke: color('--light'),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: color('--border'), width: 1 },
    ticks: { show: false },
    values: (_, values) => values.map((value) => numbers.format(value)),
  });
  return {
    width: target.clientWidth || 600,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false }, y: { range: (_, __, max) => [0, (max || 1) * 1.05] } },
    axes: [axis(34), axis(64)],
    series: [
      {},
      line('Buy, with stale orders', '--light', -1, false),
      line('Sell, with stale orders', '--light', 1, false),
      line('Buy', '--buy', -1, true),
      line('Sell', '--sell', 1, true),
    ],
  };
}
