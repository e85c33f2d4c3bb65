import type { Proof, Window } from './alert.js';

/** A promise to makers, or to the router, over 30 days. */
export interface Objective {
  readonly slo: string;
  /** Of the alerts on how fast its error budget is spent. */
  readonly alert: string;
  readonly promise: string;
  /** The share that has to be good. */
  readonly target: number;
  /**
   * The share that was bad: over a window where events are counted, else at this moment. Without events there is no
   * result: a service that gets no request breaks no promise.
   */
  readonly errors: { readonly over: (window: string) => string } | { readonly now: string };
  readonly proof: Proof;
}

const requests = 'http_server_request_duration_seconds';
const limitOrders = 'http_route="/v0alpha/limit-orders"';
const cancellations = 'http_request_method="POST",http_route="/v0alpha/limit-orders/cancellations"';

type Measured = Pick<Objective, 'errors' | 'proof'>;

/** @param selectors labels of the requests that count: those of each selector are added up */
function availability(job: string, ...selectors: readonly string[]): Measured {
  const sum = (more: string, window: string) =>
    selectors
      .map((labels) => `(sum(rate(${requests}_count{job="${job}",${labels}${more}}[${window}])) or vector(0))`)
      .join(' + ');
  const answered = (status: number, more = '') =>
    `${requests}_count{job="${job}",${selectors.at(-1)},http_response_status_code="${status}"${more}}`;
  // An operator who has the service take no orders breaks no promise.
  const failed = ',http_response_status_code=~"5..",makerbook_error_code!="cancel_only"';
  return {
    errors: { over: (window: string) => `(${sum(failed, window)}) / ((${sum('', window)}) > 0)` },
    proof: {
      fires: { [answered(200)]: '0+97x130', [answered(503)]: '0+3x130' },
      quiet: {
        [answered(400)]: '0+50000x130',
        [answered(503)]: '0+1x130',
        [answered(503, ',makerbook_error_code="cancel_only"')]: '0+9000x130',
      },
      atMinute: 125,
    },
  };
}

/** @param bound a bucket of the histogram, in seconds; Prometheus 3 would write a whole number in another way */
function latency(histogram: string, labels: string, bound: number): Measured {
  const sum = (series: string, window: string) => `sum(rate(${series}[${window}]))`;
  const [within, all] = [`${histogram}_bucket{${labels},le="${bound}"}`, `${histogram}_count{${labels}}`];
  return {
    errors: { over: (window: string) => `1 - (${sum(within, window)} or vector(0)) / (${sum(all, window)} > 0)` },
    proof: {
      fires: { [within]: '0+80x130', [all]: '0+100x130' },
      quiet: { [within]: '0+995x130', [all]: '0+1000x130' },
      atMinute: 125,
    },
  };
}

/** How many partitions there are: a watcher has a series for each. */
export const partitions = 'count(count by (partition) (chain_watcher_partition_wait_seconds))';

/** The book of a partition is fresh while its newest block is younger than this. */
export const FEED_AGE_SECONDS_MAX = 15;
export const CHAIN_LAG_SECONDS_MAX = 5;

export const objectives: readonly Objective[] = [
  {
    slo: 'post-availability',
    alert: 'PostAvailability',
    promise: 'A POST of limit orders is answered without a 5xx',
    target: 0.999,
    ...availability('ingress', `http_request_method="POST",${limitOrders}`),
  },
  {
    slo: 'delete-availability',
    alert: 'DeleteAvailability',
    promise:
      'A DELETE of limit orders, or a POST of cancellations, is answered without a 5xx: a maker can always get out',
    target: 0.9995,
    ...availability('ingress', `http_request_method="DELETE",${limitOrders}`, cancellations),
  },
  {
    slo: 'get-availability',
    alert: 'GetAvailability',
    promise: 'A GET of limit orders is answered without a 5xx',
    target: 0.999,
    ...availability('query', `http_request_method="GET",${limitOrders}`),
  },
  {
    slo: 'patch-availability',
    alert: 'PatchAvailability',
    promise: 'A PATCH of quote data is answered without a 5xx',
    target: 0.999,
    ...availability('ingress', 'http_request_method="PATCH",http_route="/v0/quote/data"'),
  },
  {
    slo: 'post-latency',
    alert: 'PostLatency',
    promise: 'A POST that is answered 200 is acknowledged within 0.25 s',
    target: 0.99,
    ...latency(
      requests,
      `job="ingress",http_request_method="POST",${limitOrders},http_response_status_code="200"`,
      0.25,
    ),
  },
  {
    slo: 'cancel-to-feed',
    alert: 'CancelToFeed',
    promise: 'A cancelled order is out of the feed within 0.5 s of its DELETE',
    target: 0.99,
    ...latency('projector_feed_delay_seconds', 'type="OrderCancelled"', 0.5),
  },
  {
    slo: 'feed-freshness',
    alert: 'FeedFreshness',
    promise: `The feed of a partition holds a block that is younger than ${FEED_AGE_SECONDS_MAX} s`,
    target: 0.999,
    errors: {
      now:
        `1 - (count(min by (partition) (projector_feed_age_seconds) < ${FEED_AGE_SECONDS_MAX}) or vector(0))` +
        ` / (${partitions} or count(count by (partition) (projector_feed_age_seconds)) or vector(1))`,
    },
    proof: {
      fires: {
        'projector_feed_age_seconds{partition="0"}': '2x130',
        'projector_feed_age_seconds{partition="1"}': '0+60x130',
        'chain_watcher_partition_wait_seconds{partition="0"}': '0x130',
        'chain_watcher_partition_wait_seconds{partition="1"}': '0x130',
      },
      quiet: {
        'projector_feed_age_seconds{partition="0"}': '2x130',
        'chain_watcher_partition_wait_seconds{partition="0"}': '0x130',
      },
      atMinute: 125,
    },
  },
  {
    slo: 'chain-lag',
    alert: 'ChainLag',
    promise: `The newest block of the log is younger than ${CHAIN_LAG_SECONDS_MAX} s`,
    target: 0.995,
    errors: { now: `(min(chain_watcher_lag_seconds) > bool ${CHAIN_LAG_SECONDS_MAX}) or vector(1)` },
    proof: {
      fires: { 'chain_watcher_lag_seconds{instance="a"}': '6x130' },
      quiet: {
        'chain_watcher_lag_seconds{instance="a"}': '5x130',
        'chain_watcher_lag_seconds{instance="b"}': '60x130',
      },
      atMinute: 125,
    },
  },
];

/**
 * Pairs of windows, and how many times faster than allowed the budget must be spent in both of them (Site Reliability
 * Workbook, chapter 5). The short one ends the alert soon after the trouble ends.
 */
export const burnRates = [
  { severity: 'page', factor: 14.4, longSeconds: 3_600, shortSeconds: 300 },
  { severity: 'page', factor: 6, longSeconds: 21_600, shortSeconds: 1_800 },
  { severity: 'ticket', factor: 3, longSeconds: 86_400, shortSeconds: 7_200 },
  { severity: 'ticket', factor: 1, longSeconds: 259_200, shortSeconds: 21_600 },
] as const;

export const windowsSeconds = [
  ...new Set(burnRates.flatMap(({ longSeconds, shortSeconds }) => [shortSeconds, longSeconds])),
].toSorted((a, b) => a - b);

/** Of the recorded share of bad events. The name keeps the window of production also where a rehearsal has a shorter one. */
export function recordOf(seconds: number, name: Window): string {
  return `slo:error_ratio:rate${name(seconds)}`;
}
