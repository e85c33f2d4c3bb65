import { parser } from '@prometheus-io/lezer-promql';

/** Returns the metrics that an expression reads. @throws Error if it is not PromQL */
export function parsePromql(expr: string): Set<string> {
  const metrics = new Set<string>();
  parser.parse(expr).iterate({
    enter: ({ type, from, to, node }) => {
      if (type.isError) throw new Error(`not PromQL at ${from}: ${expr}`);
      if (type.name === 'Identifier' && node.parent?.type.name === 'VectorSelector') metrics.add(expr.slice(from, to));
    },
  });
  return metrics;
}
