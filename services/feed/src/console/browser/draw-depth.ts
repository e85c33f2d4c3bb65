import uPlot from 'uplot';
import type { depthOf } from './list-markets.js';

/** So much around the median of the prices is shown: some orders are far from any market. */
const SHOWN_SHARE = 0.1;

/** A chart of the depth of a market over the price: bids and asks as steps. */
export function openDepthChart() {
  const element = document.createElement('div');
  element.className = 'depth';
  let chart: uPlot | undefined;
  let shown: uPlot.AlignedData = [[], [], []];
  const draw = () => {
    chart?.destroy();
    chart = element.clientWidth > 0 ? new uPlot(optionsOf(element), shown, element) : undefined;
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  new ResizeObserver(draw).observe(element);
  return ({ bids, asks }: ReturnType<typeof depthOf>) => {
    const prices = [...bids, ...asks].map(({ price }) => price).sort((a, b) => a - b);
    const amountsOf = (points: typeof bids) => {
      const amounts = new Map(points.map(({ price, amount }) => [price, amount]));
      return prices.map((price) => amounts.get(price) ?? null);
    };
    shown = [prices, amountsOf(bids), amountsOf(asks)];
    chart?.setData(shown);
    return element;
  };
}

const shownPrices: uPlot.Range.Function = ({ data: [prices = []] }, low, high) => {
  const median = prices[prices.length >> 1] ?? 1;
  const edge = (high - low || median / 50) * 0.05;
  return [Math.max(low - edge, median * (1 - SHOWN_SHARE)), Math.min(high + edge, median * (1 + SHOWN_SHARE))];
};

function optionsOf(target: HTMLElement): uPlot.Options {
  const style = getComputedStyle(target);
  // A canvas takes no variable: read the color that one stands for now.
  const color = (name: string) => {
    target.style.color = `var(${name})`;
    return style.color;
  };
  const line = (name: string, align: 1 | -1): uPlot.Series => ({
    stroke: color(name),
    fill: color(name).replace('rgb(', 'rgba(').replace(')', ', 0.12)'),
    width: 2,
    spanGaps: true,
    ...(uPlot.paths.stepped && { paths: uPlot.paths.stepped({ align }) }),
  });
  const axis = (size: number): uPlot.Axis => ({
    size,
    stroke: color('--text-light'),
    grid: { stroke: color('--border'), width: 1 },
    ticks: { show: false },
    values: (_, values) => values.map((value) => value.toLocaleString('en')),
  });
  return {
    width: target.clientWidth,
    height: target.clientHeight,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false, range: shownPrices }, y: { range: (_, __, most) => [0, (most || 1) * 1.05] } },
    axes: [axis(34), axis(64)],
    series: [{}, line('--accent', -1), line('--red', 1)],
  };
}
