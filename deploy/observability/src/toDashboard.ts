import {
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  LegendPlacement,
  SortOrder,
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  type Dashboard,
  DashboardBuilder,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import type { Board, Panel } from './board.ts';

const SOURCE = { type: 'prometheus', uid: '$' + '{datasource}' };
const [WIDTH, HEIGHT] = [8, 8];

/** The dashboard as Grafana reads it. Every panel asks the Prometheus that is chosen at the top. */
export function toDashboard({ id, title, variables, rows }: Board): Dashboard {
  const dashboard = new DashboardBuilder(title)
    .uid(`turnpike-${id}`)
    .tags(['turnpike'])
    .timezone('utc')
    .refresh('30s')
    .time({ from: 'now-1h', to: 'now' })
    .withVariable(new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus'));
  for (const variable of variables) dashboard.withVariable(toVariable(variable));
  let panels = 0;
  for (const row of rows) {
    dashboard.withRow(new RowBuilder(row.title).id(++panels));
    for (const panel of row.panels) dashboard.withPanel(toPanel(panel).id(++panels));
  }
  return dashboard.build();
}

const toVariable = ({ label, metric }: { label: string; metric: string }): QueryVariableBuilder =>
  new QueryVariableBuilder(label)
    .label(label)
    .datasource(SOURCE)
    .query(`label_values(${metric}, ${label})`)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .allValue('.*')
    .current({ text: 'All', value: '$__all' });

function toPanel({ title, unit, says, limit, lines }: Panel): PanelBuilder {
  const panel = new PanelBuilder()
    .title(title)
    .datasource(SOURCE)
    .unit(unit)
    .min(0)
    .span(WIDTH)
    .height(HEIGHT)
    .legend(
      new VizLegendOptionsBuilder()
        .displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom)
        .showLegend(true),
    )
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending));
  if (says !== undefined) panel.description(says);
  if (limit !== undefined)
    panel
      .thresholds(
        new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps([
          { value: null, color: 'transparent' },
          { value: limit, color: 'red' },
        ]),
      )
      .thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed));
  for (const [index, { expr, legend }] of lines.entries())
    panel.withTarget(
      new DataqueryBuilder()
        .refId(String.fromCharCode('A'.charCodeAt(0) + index))
        .expr(expr)
        .legendFormat(legend),
    );
  return panel;
}
