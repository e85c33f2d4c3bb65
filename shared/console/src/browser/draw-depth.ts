import { html, svg, type TemplateResult } from 'lit-html';
import type { depthOf, Points } from './list-markets.js';
import { tellPrice } from './tell-amounts.js';

/** So much around the median of the prices is shown: some orders are far from any market. */
const SHOWN_SHARE = 0.1;

/** A chart of the depth of a market over the price: bids and asks as steps, the amount that is highest at the top. */
export function drawDepth({ bids, asks }: ReturnType<typeof depthOf>): TemplateResult {
  const prices = [...bids, ...asks].map(({ price }) => price).sort((a, b) => a - b);
  const median = prices[prices.length >> 1] ?? 1;
  const [first = median, last = median] = [prices[0], prices.at(-1)];
  const edge = (last - first || median / 50) * 0.05;
  const low = Math.max(first - edge, median * (1 - SHOWN_SHARE));
  const high = Math.min(last + edge, median * (1 + SHOWN_SHARE));
  const shown = [bids, asks].map((points) => points.filter(({ price }) => price > low && price < high));
  const most = Math.max(0, ...shown.flat().map(({ amount }) => amount));
  const x = (price: number) => (100 * (price - low)) / (high - low);
  const area = (side: string, points: Points, end: number) => {
    const steps = points.map(({ price, amount }) => `H${x(price)}V${100 - (100 * amount) / most}`).join('');
    return points[0] && svg`<path class=${side} d="M${x(points[0].price)} 100${steps}H${end}V100" />`;
  };
  const ticks = (numberAt: (share: number) => number) =>
    html`<p class="ticks">${[0, 0.25, 0.5, 0.75, 1].map((share) => html`<span>${tellPrice(numberAt(share))}</span>`)}</p>`;
  return html`
    <div class="depth">
      ${ticks((share) => most * (1 - share))}
      <svg viewBox="0 0 100 100" preserveAspectRatio="none">
        ${area('buy', shown[0] ?? [], 0)}${area('sell', shown[1] ?? [], 100)}
      </svg>
      ${ticks((share) => low + share * (high - low))}
    </div>`;
}
