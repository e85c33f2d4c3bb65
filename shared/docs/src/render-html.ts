/** A piece of HTML: texts in it are escaped. */
export type Html = string;

/** A text as HTML. */
export function escapeHtml(text: string): Html {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A sentence as HTML: what stands between backticks is code. */
export function prose(text: string): Html {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

/** A table whose cells are HTML; it scrolls where it is too wide. */
export function table(head: readonly string[], rows: readonly (readonly Html[])[]): Html {
  const line = (cells: readonly Html[], tag: 'th' | 'td') =>
    `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
  const body = rows.map((cells) => line(cells, 'td')).join('\n');
  return `<div class="scroll"><table><thead>${line(head, 'th')}</thead><tbody>\n${body}\n</tbody></table></div>`;
}

/** A block of code with a caption. */
export function codeBlock(caption: string, text: string): Html {
  return `<figure class="code"><figcaption>${prose(caption)}</figcaption><pre><code>${escapeHtml(text.trimEnd())}</code></pre></figure>`;
}

/** JSON over several lines, with short objects and lists on one, and long texts cut in the middle. A text alone is bare. */
export function jsonBlock(caption: string, value: unknown): Html {
  return codeBlock(caption, typeof value === 'string' ? shorten(value) : layOut(value, ''));
}

const LINE_MAX = 76;
const TEXT_MAX = 68;

function layOut(value: unknown, indent: string): string {
  if (typeof value === 'string') return JSON.stringify(shorten(value));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const isList = Array.isArray(value);
  const inner = `${indent}  `;
  const items = isList
    ? value.map((item) => layOut(item, inner))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${layOut(item, inner)}`);
  const [open, close] = isList ? '[]' : '{}';
  const line = isList ? `[${items.join(', ')}]` : `{ ${items.join(', ')} }`;
  if (items.length === 0) return `${open}${close}`;
  if (!line.includes('\n') && indent.length + line.length <= LINE_MAX) return line;
  return `${open}\n${items.map((item) => `${inner}${item}`).join(',\n')}\n${indent}${close}`;
}

/** A long text with its middle left out. */
export function shorten(text: string): string {
  return text.length <= TEXT_MAX ? text : `${text.slice(0, 34)}…${text.slice(-16)}`;
}
