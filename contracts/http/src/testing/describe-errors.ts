import { type ErrorCases, errorsOfAnyRequest, type Operation, operations } from '../operations.js';
import { type ProblemCode, problemKinds } from '../problems.js';

const begin = '<!-- errors: written by `npm run generate -w @makerbook/contracts-http` -->';
const end = '<!-- /errors -->';

/** The README with its tables of errors as `operations` has them. */
export function withErrorTables(readme: string): string {
  const [before, rest = ''] = readme.split(`${begin}\n`, 2);
  const after = rest.slice(rest.indexOf(end));
  return `${before}${begin}\n\n${describeErrors()}\n\n${after}`;
}

function describeErrors(): string {
  const byErrors = new Map<ErrorCases, string[]>();
  for (const { method, path, errors } of Object.values<Operation>(operations)) {
    byErrors.set(errors, [...(byErrors.get(errors) ?? []), `${method} ${path}`]);
  }
  const tables = [...byErrors].map(([errors, names]) => `**${names.join(', ')}**\n\n${tableOf(errors)}`);
  return [...tables, `**Any request**\n\n${tableOf(errorsOfAnyRequest)}`].join('\n\n');
}

function tableOf(errors: ErrorCases): string {
  const codes = Object.keys(errors) as ProblemCode[];
  const rows = codes.map(
    (code) => `| ${problemKinds[code].status} | \`${code}\` | ${errors[code]?.cause} | ${errors[code]?.remedy} |`,
  );
  return ['| status | code | cause | remedy |', '|---|---|---|---|', ...rows].join('\n');
}
