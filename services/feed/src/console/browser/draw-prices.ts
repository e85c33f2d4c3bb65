import { openChart } from './draw-chart.js';
import { tellTime } from './tell-amounts.js';

/** The price that was paid in one fill. */
export interface Trade {
  /** Unix seconds. */
  readonly seconds: number;
  readonly price: number;
  readonly isAsk: boolean;
}

/** The width of a time below the axis, with the space to the next one, in pixels. */
const TIME_WIDTH = 180;

/** A chart of the prices that were paid over time: a line, and a dot for each fill of a sell and of a buy. */
export function openPriceChart() {
  const show = openChart('chart low', ({ color, axis }) => {
    const dots = (name: string) => ({
      points: { show: true, size: 7, stroke: color(name), fill: color(name) },
      paths: () => null,
    });
    return {
      scales: { x: { time: true } },
      axes: [
        { ...axis(34), space: TIME_WIDTH, values: (_, times) => times.map((seconds) => tellTime(seconds * 1_000)) },
        axis(64),
      ],
      series: [
        {},
        { stroke: color('--text-light'), width: 1, points: { show: false } },
        dots('--red'),
        dots('--accent'),
      ],
    };
  });
  return (trades: readonly Trade[]) => {
    const inTime = trades.toSorted((one, other) => one.seconds - other.seconds);
    const pricesOf = (isAsk: boolean) => inTime.map((one) => (one.isAsk === isAsk ? one.price : null));
    const [times, prices] = [inTime.map(({ seconds }) => seconds), inTime.map(({ price }) => price)];
    return show([times, prices, pricesOf(true), pricesOf(false)]);
  };
}
