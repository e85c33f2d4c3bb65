import {
  type ErrorCase,
  type ErrorCases,
  errorsOfAnyRequest,
  info,
  type Operation,
  operations,
  type ProblemCode,
  problemKinds,
} from '@makerbook/contracts-http';
import { describeFields, type Field } from './describe-fields.js';

/** Markdown, as `renderMarkdown` takes it. */
export type Markdown = string;

const TEXT_MAX = 68;

/** Every operation: what it takes, an example, what it answers, and its errors with cause and remedy. */
export function describeOperations(): Markdown {
  const sections = Object.values<Operation>(operations).map(describeOperation);
  return [...sections, '## Errors of any request', tableOfErrors(errorsOfAnyRequest)].join('\n\n');
}

/** Every code of the interface, and the operations that answer it. */
export function describeCodes(): Markdown {
  const rows = Object.entries(problemKinds).map(([code, { status, title, retryable }]) => {
    const users = Object.values<Operation>(operations).filter(({ errors }) => code in errors);
    const places = users.map(({ method, path }) => `\`${method} ${path}\``).join(', ');
    return [`${status}`, `\`${code}\``, title, retryable ? 'yes' : 'no', places || 'any request'];
  });
  return table(['status', 'code', 'title', 'retryable', 'answered by'], rows);
}

/** The limits of a service as they are configured. */
export function describeLimits(limits: Readonly<Record<string, number | Readonly<Record<string, number>>>>): Markdown {
  const meanings = new Map(
    describeFields(info.shape.limits, 'output').map(({ name, description }) => [name, description]),
  );
  const rows = Object.entries(limits).map(([name, value]) => {
    const parts = typeof value === 'number' ? [['', value] as const] : Object.entries(value);
    const shown = parts.map(([part, number]) => `${part} ${number.toLocaleString('en-GB')}`.trim());
    return [`\`${name}\``, shown.join(', '), meanings.get(name) ?? ''];
  });
  return table(['limit', 'value', 'meaning'], rows);
}

/** A table whose cells are Markdown. */
export function table(head: readonly string[], rows: readonly (readonly Markdown[])[]): Markdown {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** A block of JSON; long texts in it are cut in the middle. */
export function jsonBlock(caption: string, value: unknown): Markdown {
  const text = JSON.stringify(value, (_, part: unknown) => (typeof part === 'string' ? shorten(part) : part), 2);
  return `\`\`\`json ${caption}\n${text}\n\`\`\``;
}

function describeOperation({ method, path, summary, description, query, headers, body, answer, errors }: Operation) {
  const parameters = query === undefined ? [] : describeFields(query, 'input');
  const needed = parameters.filter(({ isRequired }) => isRequired);
  const pairs = needed.map(({ name, example }) => `${name}=${String(example).split(',').map(shorten)}`);
  return [
    `## ${method} ${path}`,
    `${summary}. ${description}`,
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
    'In the order in which they are judged:',
    tableOfErrors(errors),
    '</details>',
  ]
    .filter((part) => part !== undefined)
    .join('\n\n');
}

function tableOfFields(kind: string, fields: readonly Field[]): Markdown {
  const rows = fields.map(({ name, isRequired, description }) => [
    `\`${name}\``,
    `${isRequired ? '' : '*Optional.* '}${description}`,
  ]);
  return table([kind, 'meaning'], rows);
}

function tableOfErrors(errors: ErrorCases): Markdown {
  const rows = (Object.entries(errors) as [ProblemCode, ErrorCase][]).map(([code, { cause, remedy }]) => [
    `${problemKinds[code].status}`,
    `\`${code}\``,
    cause,
    remedy,
  ]);
  return table(['status', 'code', 'cause', 'what to do'], rows);
}

function shorten(text: string): string {
  return text.length <= TEXT_MAX ? text : `${text.slice(0, 34)}…${text.slice(-16)}`;
}
