import uPlot from 'uplot';
import { openChart, type Pen } from './draw-chart.js';
import type { depthOf } from './list-markets.js';

/** How much to show around the median of the prices. Some orders are far from any market. */
const SHOWN_SHARE = 0.1;

/** A chart of the depth of a market over the price: bids and asks as steps. */
export function openDepthChart() {
  const show = openChart('chart', (pen) => ({
    scales: { x: { time: false, range: shownPrices }, y: { range: (_, __, most) => [0, (most || 1) * 1.05] } },
    axes: [pen.axis(34), pen.axis(64)],
    series: [{}, stepsOf(pen, '--accent', -1), stepsOf(pen, '--red', 1)],
  }));
  return ({ bids, asks }: ReturnType<typeof depthOf>) => {
    const prices = [...bids, ...asks].map(({ price }) => price).sort((a, b) => a - b);
    const amountsOf = (points: typeof bids) => {
      const amounts = new Map(points.map(({ price, amount }) => [price, amount]));
      return prices.map((price) => amounts.get(price) ?? null);
    };
    return show([prices, amountsOf(bids), amountsOf(asks)]);
  };
}

const shownPrices: uPlot.Range.Function = ({ data: [prices = []] }, low, high) => {
  const median = prices[prices.length >> 1] ?? 1;
  const edge = (high - low || median / 50) * 0.05;
  return [Math.max(low - edge, median * (1 - SHOWN_SHARE)), Math.min(high + edge, median * (1 + SHOWN_SHARE))];
};

function stepsOf({ color }: Pen, name: string, align: 1 | -1): uPlot.Series {
  return {
    stroke: color(name),
    fill: color(name).replace('rgb(', 'rgba(').replace(')', ', 0.12)'),
    width: 2,
    spanGaps: true,
    ...(uPlot.paths.stepped && { paths: uPlot.paths.stepped({ align }) }),
  };
}
