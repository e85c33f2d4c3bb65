import { type DashboardSpec, lines, maybe, quantiles, query, rate } from './panel.js';

const delay = (what: string) => query(`max by (job) (nodejs_eventloop_delay_${what}_seconds)`, `{{job}} ${what}`);
const heap = (what: string, legend: string) =>
  query(`sum by (job) (v8js_memory_heap_${what}_bytes)`, `{{job}} ${legend}`);

/** What every service shows of Node.js, Postgres and Redis; shared/telemetry's README has it as a table. */
export const processes: DashboardSpec = {
  uid: 'makerbook-processes',
  title: 'Makerbook: processes',
  rows: [
    {
      title: 'Event loop',
      panels: [
        lines('Utilisation', 'percentunit', query('max by (job) (nodejs_eventloop_utilization_ratio)', '{{job}}')),
        lines('Delay', 's', ...['p50', 'p90', 'p99', 'max'].map(delay)),
        lines('Delay on average', 's', ...['min', 'mean', 'stddev'].map(delay)),
        lines(
          'Busy and idle',
          'percentunit',
          query(
            rate('nodejs_eventloop_time_seconds_total', 'job', 'nodejs_eventloop_state'),
            '{{job}} {{nodejs_eventloop_state}}',
          ),
        ),
      ],
    },
    {
      title: 'Memory',
      panels: [
        lines('Heap in use', 'bytes', heap('used', 'used'), heap('space_size', 'reserved')),
        lines('Heap spaces', 'bytes', heap('space_available_size', 'free'), heap('space_physical_size', 'committed')),
        lines('Garbage collection', 's', ...quantiles('v8js_gc_duration_seconds', ['job'])),
        lines('What keeps the process busy', 'short', query('sum by (job) (v8js_resource_active)', '{{job}}')),
      ],
    },
    {
      title: 'Postgres and Redis',
      panels: [
        lines('Operations', 's', ...quantiles('db_client_operation_duration_seconds', ['job', 'db_system_name'])),
        lines(
          'Failures',
          'reqps',
          maybe(
            rate('db_client_operation_duration_seconds_count{error_type!=""}', 'job', 'db_system_name', 'error_type'),
            '{{job}} {{db_system_name}} {{error_type}}',
          ),
        ),
        lines(
          'Connections',
          'short',
          query(
            'sum by (job, db_client_connection_state) (db_client_connection_count)',
            '{{job}} {{db_client_connection_state}}',
          ),
          query('sum by (job) (db_client_connection_pending_requests)', '{{job}} waits'),
        ),
        lines('Processes', 'short', query('count by (job) (target_info)', '{{job}}')),
      ],
    },
  ],
};
