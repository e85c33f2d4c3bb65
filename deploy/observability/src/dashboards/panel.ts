/** One query of a panel. `RATE` in it is the window that fits the time range shown. */
export interface PanelQuery {
  readonly expr: string;
  readonly legend: string;
  /** It has a result only after something has happened, or with a setting that is off by default. */
  readonly mayBeEmpty?: true;
}

export interface PanelSpec {
  readonly title: string;
  /** As Grafana names it: `s`, `reqps`, `percentunit`, `short`. */
  readonly unit: string;
  readonly kind: 'lines' | 'number';
  readonly queries: readonly PanelQuery[];
  /** From here on the value is drawn in red. */
  readonly red?: number;
}

export interface DashboardSpec {
  readonly uid: string;
  readonly title: string;
  readonly rows: readonly { readonly title: string; readonly panels: readonly PanelSpec[] }[];
}

export const RATE = '$__rate_interval';

export function lines(title: string, unit: string, ...queries: readonly PanelQuery[]): PanelSpec {
  return { title, unit, kind: 'lines', queries };
}

export function number(title: string, unit: string, expr: string, red?: number): PanelSpec {
  return { title, unit, kind: 'number', queries: [{ expr, legend: '' }], ...(red === undefined ? {} : { red }) };
}

export function query(expr: string, legend: string): PanelQuery {
  return { expr, legend };
}

export function maybe(expr: string, legend: string): PanelQuery {
  return { expr, legend, mayBeEmpty: true };
}

/** How often a counter counts in a second, by labels. */
export function rate(counter: string, ...by: readonly string[]): string {
  return `sum${by.length > 0 ? ` by (${by.join(', ')})` : ''} (rate(${counter}[${RATE}]))`;
}

/** Median and p99 of a histogram, by labels. */
export function quantiles(histogram: string, by: readonly string[] = [], labels = ''): PanelQuery[] {
  return [0.5, 0.99].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, ${rate(`${histogram}_bucket${labels}`, 'le', ...by)})`,
    legend: [...by.map((label) => `{{${label}}}`), `p${quantile * 100}`].join(' '),
  }));
}
