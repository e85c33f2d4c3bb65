import {
  type ErrorCase,
  type ErrorCases,
  errorsOfAnyRequest,
  type Info,
  info,
  type Operation,
  operations,
  type ProblemCode,
  problemKinds,
} from '@makerbook/contracts-http';
import { describeFields, type Field } from './describe-fields.js';
import { escapeHtml } from './render-markdown.js';

/** Describes every operation: its parameters, an example, its answer, and its errors with cause and remedy. */
export function describeOperations(): string {
  const sections = Object.values<Operation>(operations).map(describeOperation);
  return [...sections, '## Errors of any request', tableOfErrors(errorsOfAnyRequest)].join('\n\n');
}

/** A table of the limits as they are configured. */
export function describeLimits(limits: Info['limits']): string {
  const meanings = new Map(describeFields(info.shape.limits, 'output').map((field) => [field.name, field.description]));
  const rows = Object.entries(limits).map(([name, value]) => {
    const parts = typeof value === 'number' ? { '': value } : value;
    const shown = Object.entries(parts).map(([part, number]) => `${part} ${number.toLocaleString('en-GB')}`.trim());
    return [`\`${name}\``, shown.join(', '), meanings.get(name) ?? ''];
  });
  return table(['limit', 'value', 'meaning'], rows);
}

/** A table of the tokens that the operator has named. A maker's program needs them first. */
export function describeTokens(tokens: Info['tokens']): string {
  if (tokens.length === 0) return 'The operator has named no tokens: ask which ones are routed.';
  const rows = tokens.map(({ symbol, address, decimals }) => [escapeHtml(symbol), `\`${address}\``, String(decimals)]);
  return table(['token', 'address', 'decimals'], rows);
}

/** A table in Markdown. Cells may contain `|`. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** A block of JSON in Markdown, with a caption. */
export function jsonBlock(caption: string, value: unknown): string {
  return `\`\`\`json ${caption}\n${JSON.stringify(value, null, 2)}\n\`\`\``;
}

function describeOperation({ method, path, summary, description, query, headers, body, answer, errors }: Operation) {
  const parameters = query === undefined ? [] : describeFields(query, 'input');
  const needed = parameters.filter(({ isRequired }) => isRequired);
  const pairs = needed.map(({ name, example }) => `${name}=${String(example)}`);
  return [
    `## ${summary}`,
    `\`${method} ${path}\``,
    description,
    '<details>\n<summary>Parameters, examples and errors</summary>',
    query && tableOfFields('query parameter', parameters),
    headers && tableOfFields('header', describeFields(headers, 'input')),
    body && tableOfFields('field of the body', describeFields(body.schema, 'input')),
    pairs.length > 0 ? `\`\`\`http Request\n${method} ${path}\n  ?${pairs.join('\n  &')}\n\`\`\`` : undefined,
    body && jsonBlock(`Request body, ${body.type}`, body.example),
    `### Answer 200 of ${method} ${path}`,
    `${answer.description}, as \`${answer.type}\`.`,
    answer.headers && tableOfFields('header of the answer', describeFields(answer.headers, 'output')),
    answer.example === undefined ? undefined : jsonBlock('Answer', answer.example),
    `### Errors of ${method} ${path}`,
    'In the order of the checks:',
    tableOfErrors(errors),
    '</details>',
  ]
    .filter((part) => part !== undefined)
    .join('\n\n');
}

function tableOfFields(kind: string, fields: readonly Field[]): string {
  const rows = fields.map(({ name, isRequired, description }) => [
    `\`${name}\``,
    `${isRequired ? '' : '*Optional.* '}${description}`,
  ]);
  return table([kind, 'meaning'], rows);
}

function tableOfErrors(errors: ErrorCases): string {
  const rows = (Object.entries(errors) as [ProblemCode, ErrorCase][]).map(([code, { cause, remedy }]) => [
    `${problemKinds[code].status}`,
    `\`${code}\``,
    cause,
    remedy,
  ]);
  return table(['status', 'code', 'cause', 'what to do'], rows);
}
