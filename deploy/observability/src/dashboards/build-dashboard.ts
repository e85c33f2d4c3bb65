import {
  type Dashboard,
  DashboardBuilder,
  DatasourceVariableBuilder,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TimeseriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import type { DashboardSpec, PanelSpec } from './panel.js';

const source = { type: 'prometheus', uid: '$datasource' };
const HEIGHT = { number: 4, lines: 8 } as const;
const WIDTH = 24;

/** A dashboard as Grafana imports it. */
export function buildDashboard({ uid, title, rows }: DashboardSpec): Dashboard {
  const dashboard = new DashboardBuilder(title)
    .uid(uid)
    .tags(['makerbook'])
    .time({ from: 'now-3h', to: 'now' })
    .refresh('30s')
    .timezone('browser')
    .withVariable(new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus'));
  for (const { title: name, panels } of rows) {
    dashboard.withRow(new RowBuilder(name));
    const across = panels.length > 3 && panels[0]?.kind === 'lines' ? Math.ceil(panels.length / 2) : panels.length;
    const span = Math.max(6, Math.floor(WIDTH / (panels[0]?.kind === 'number' ? panels.length : Math.min(4, across))));
    for (const panel of panels)
      dashboard.withPanel(build(panel, panel.kind === 'number' ? WIDTH / panels.length : span));
  }
  return dashboard.build();
}

function build(panel: PanelSpec, span: number) {
  const { title, unit, kind, queries, red } = panel;
  const builder = (kind === 'number' ? new StatBuilder() : new TimeseriesBuilder())
    .title(title)
    .unit(unit)
    .min(0)
    .datasource(source)
    .span(span)
    .height(HEIGHT[kind]);
  for (const { expr, legend } of queries) {
    const query = new DataqueryBuilder().expr(expr).datasource(source);
    builder.withTarget(kind === 'number' ? query.instant() : query.legendFormat(legend));
  }
  if (red !== undefined)
    builder.thresholds(
      new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps([
        { value: null, color: 'green' },
        { value: red, color: 'red' },
      ]),
    );
  return builder;
}
