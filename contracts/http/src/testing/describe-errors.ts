import { type ErrorCases, errorsOfAnyRequest, type Operation, operations } from '../operations.js';
import { type ProblemCode, problemKinds } from '../problems.js';

const begin = '<!-- errors: written by `npm run generate -w @makerbook/contracts-http` -->';
const end = '<!-- /errors -->';

/** The README with its table of errors as `operations` has them. */
export function withErrorTable(readme: string): string {
  const [before, rest = ''] = readme.split(`${begin}\n`, 2);
  const after = rest.slice(rest.indexOf(end));
  return `${before}${begin}\n\n${describeErrors()}\n\n${after}`;
}

/** A row for each remedy of a code, with its causes and the sections of the operations that answer them. */
function describeErrors(): string {
  const codes = Object.keys(problemKinds) as ProblemCode[];
  return ['| code | cause (section) | remedy |', '|---|---|---|', ...codes.flatMap(rowsOf)].join('\n');
}

function rowsOf(code: ProblemCode): string[] {
  const described = [...Object.values<Operation>(operations), { section: 'any', errors: errorsOfAnyRequest }];
  const remedies = new Map<string, Map<string, Set<string>>>();
  for (const { section, errors } of described) {
    const found = (errors as ErrorCases)[code];
    if (found === undefined) continue;
    const causes = remedies.get(found.remedy) ?? new Map<string, Set<string>>();
    remedies.set(found.remedy, causes.set(found.cause, (causes.get(found.cause) ?? new Set()).add(section)));
  }
  return [...remedies].map(([remedy, causes]) => {
    const told = [...causes].map(([cause, sections]) => `${cause} (${[...sections].sort().join(', ')})`);
    return `| ${problemKinds[code].status} \`${code}\` | ${told.join(' ')} | ${remedy} |`;
  });
}
