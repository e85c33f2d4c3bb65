import {
  type ErrorCase,
  type ErrorCases,
  errorsOfAnyRequest,
  type Operation,
  operations,
  type ProblemCode,
  problemBody,
  problemKinds,
} from '@makerbook/contracts-http';
import { describeFields, type Field } from './describe-fields.js';
import { codeBlock, escapeHtml, type Html, jsonBlock, prose, shorten, table } from './render-html.js';

const ids = Object.keys(operations) as (keyof typeof operations)[];
const codes = Object.keys(problemKinds) as ProblemCode[];

/** Links to the operations, for the navigation. */
export function renderOperationLinks(): Html {
  const links = ids.map((id) => `<li><a href="#${id}">${titleOf(operations[id])}</a></li>`);
  return `<ul>\n${links.join('\n')}\n</ul>`;
}

/** Every operation: what it takes, an example, what it answers, and its errors with cause and remedy. */
export function renderOperations(): Html {
  return ids.map((id) => renderOperation(id, operations[id])).join('\n');
}

function titleOf({ method, path }: Operation): Html {
  return `<span class="method ${method.toLowerCase()}">${method}</span> <code>${escapeHtml(path)}</code>`;
}

function renderOperation(id: string, operation: Operation): Html {
  const { summary, description, answer, errors } = operation;
  return `<section class="operation" id="${id}">
<h3>${titleOf(operation)}</h3>
<p class="summary">${prose(summary)}. ${prose(description)}</p>
${renderRequest(operation)}
<h4>Answer 200</h4>
<p>${prose(answer.description)}, as <code>${answer.type}</code>.</p>
${answer.headers === undefined ? '' : renderFields('header', describeFields(answer.headers, 'output'))}
${answer.example === undefined ? '' : jsonBlock('Answer', answer.example)}
<h4>Errors, in the order in which they are judged</h4>
${renderErrors(errors)}
</section>`;
}

function renderRequest({ method, path, query, headers, body }: Operation): Html {
  const parameters = query === undefined ? [] : describeFields(query, 'input');
  const example = parameters
    .filter(({ isRequired }) => isRequired)
    .map(({ name, example }) => `${name}=${String(example).split(',').map(shorten)}`);
  return [
    renderFields('query parameter', parameters),
    headers === undefined ? '' : renderFields('header', describeFields(headers, 'input')),
    body === undefined ? '' : renderFields('field of the body', describeFields(body.schema, 'input')),
    example.length === 0 ? '' : codeBlock('Request', `${method} ${path}\n  ?${example.join('\n  &')}`),
    body === undefined ? '' : jsonBlock(`Request body, \`${body.type}\``, body.example),
  ].join('\n');
}

function renderFields(kind: string, fields: readonly Field[]): Html {
  if (fields.length === 0) return '';
  const rows = fields.map(({ name, isRequired, description }) => [
    `<code>${escapeHtml(name)}</code>`,
    `${isRequired ? '' : '<i>Optional.</i> '}${prose(description)}`,
  ]);
  return table([kind, 'meaning'], rows);
}

const linkTo = (code: string) => `<a href="#error-${code}"><code>${code}</code></a>`;

function renderErrors(errors: ErrorCases): Html {
  const rows = (Object.entries(errors) as [ProblemCode, ErrorCase][]).map(([code, { cause, remedy }]) => [
    String(problemKinds[code].status),
    linkTo(code),
    prose(cause),
    prose(remedy),
  ]);
  return table(['status', 'code', 'cause', 'what to do'], rows);
}

/** Errors that can answer any request. */
export function renderErrorsOfAnyRequest(): Html {
  return renderErrors(errorsOfAnyRequest);
}

/** Every code of the interface, and the operations that answer it. */
export function renderCodes(): Html {
  const rows = codes.map((code) => {
    const { status, title, retryable } = problemKinds[code];
    const users = ids.filter((id) => (operations[id] as Operation).errors[code] !== undefined);
    const places = users.map((id) => `<a href="#${id}"><code>${id}</code></a>`).join(', ');
    return [
      String(status),
      `<code id="error-${code}">${code}</code>`,
      escapeHtml(title),
      retryable ? 'yes' : 'no',
      places === '' ? 'any request' : places,
    ];
  });
  return table(['status', 'code', 'title', 'retryable', 'of'], rows);
}

/** The body of an error, for example. */
export function renderProblemExample(): Html {
  const text = {
    detail: 'order 1 expired at 1799999999; the clock here is 1800000001',
    index: 1,
  };
  return jsonBlock('The body of a 400', problemBody('order_expired', text, '0d9c6e1e-5b0a-4b7e-9a52-2f1f1c5e7f10'));
}
