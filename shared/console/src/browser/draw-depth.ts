import uPlot from 'uplot';

const HEIGHT_PX = 260;
/** So much around the median of the prices is shown: some orders are far from any market. */
const SHOWN_SHARE = 0.1;
const numbers = new Intl.NumberFormat('en', { maximumSignificantDigits: 5 });

/** A chart of the depth of a market: bids and asks as steps. */
export function openDepthChart() {
  const element = document.createElement('div');
  let chart: uPlot | undefined;
  let shown: uPlot.AlignedData = [[], [], []];
  const draw = () => {
    chart?.destroy();
    chart = element.clientWidth > 0 ? new uPlot(optionsOf(element), shown, element) : undefined;
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  new ResizeObserver(draw).observe(element);
  return {
    element,
    show(series: [number[], ...(number | null)[][]]): void {
      if (JSON.stringify(series) === JSON.stringify(shown)) return;
      shown = series;
      chart?.setData(shown);
    },
  };
}

const shownPrices: uPlot.Range.Function = ({ data: [prices = []] }, low, high) => {
  const median = prices[prices.length >> 1] ?? 1;
  const edge = (high - low || median / 50) * 0.05;
  return [Math.max(low - edge, median * (1 - SHOWN_SHARE)), Math.min(high + edge, median * (1 + SHOWN_SHARE))];
};

function optionsOf(target: HTMLElement): uPlot.Options {
  const style = getComputedStyle(target);
  // A variable has its text, and a property the color that it stands for now.
  const color = (name: string) => {
    target.style.color = `var(${name})`;
    return style.color;
  };
  const line = (label: string, name: string, align: 1 | -1): uPlot.Series => ({
    label,
    stroke: color(name),
    fill: color(name).replace('rgb(', 'rgba(').replace(')', ', 0.12)'),
    width: 2,
    spanGaps: true,
    points: { size: 5 },
    ...(uPlot.paths.stepped && { paths: uPlot.paths.stepped({ align }) }),
  });
  const axis = (size: number): uPlot.Axis => ({
    size,
    stroke: color('--text-light'),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: color('--border'), width: 1 },
    ticks: { show: false },
    values: (_, values) => values.map((value) => numbers.format(value)),
  });
  return {
    width: target.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false, range: shownPrices }, y: { range: (_, __, max) => [0, (max || 1) * 1.05] } },
    axes: [axis(34), axis(64)],
    series: [{}, line('Buy', '--accent', -1), line('Sell', '--sell', 1)],
  };
}
