/** The element with an id. @throws Error where the page has none of that kind */
export function find<T extends HTMLElement = HTMLElement>(id: string, kind?: new () => T): T {
  const found = document.getElementById(id);
  if (found === null || (kind !== undefined && !(found instanceof kind))) throw new Error(`the page has no ${id}`);
  return found as T;
}

/** A new element with its properties and what it holds. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]>,
  ...inner: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...inner);
  return made;
}

/** What a cell of a table shows: a text, also as a link or beside a bar for a share. */
export interface Cell {
  readonly text: string;
  readonly title?: string;
  readonly href?: string | undefined;
  readonly share?: number;
}

export interface Row {
  readonly key: string;
  readonly cells: readonly (string | Cell)[];
  readonly className?: string;
}

/** Shows the rows, and changes nothing but what differs: focus and selection stay where they are. */
export function fillRows(id: string, rows: readonly Row[]): void {
  const table = find(id, HTMLTableElement);
  const body = table.tBodies[0] ?? table.createTBody();
  const before = new Map([...body.rows].map((row) => [row.dataset['key'], row]));
  let at = body.firstElementChild;
  for (const { key, cells, className = '' } of rows) {
    const row = before.get(key) ?? element('tr', {});
    before.delete(key);
    row.dataset['key'] = key;
    if (row.className !== className) row.className = className;
    for (const [index, cell] of cells.entries()) fillCell(row.cells[index] ?? row.insertCell(), cell);
    if (row === at) at = row.nextElementSibling;
    else body.insertBefore(row, at);
  }
  for (const left of before.values()) left.remove();
}

function fillCell(td: HTMLTableCellElement, cell: string | Cell): void {
  const { text, title = '', href, share }: Cell = typeof cell === 'string' ? { text: cell } : cell;
  if (share !== undefined) {
    const meter = td.querySelector('meter') ?? element('meter', { max: 1 });
    meter.value = share;
    meter.ariaLabel = `${text} left`;
    if (!meter.isConnected) td.replaceChildren(meter, element('span', {}));
  } else if (href !== undefined && td.querySelector('a') === null) td.replaceChildren(element('a', {}));
  const holder = td.querySelector('a') ?? td.querySelector('span') ?? td;
  if (holder instanceof HTMLAnchorElement && href !== undefined) holder.setAttribute('href', href);
  say(holder, text);
  if (td.title !== title) td.title = title;
}

/** Puts a text into an element, where it differs. */
export function say(target: string | Element, text: string): void {
  const holder = typeof target === 'string' ? find(target) : target;
  if (holder.textContent !== text) holder.textContent = text;
}

/** A button that copies the text of an element. */
export function addCopyButton(id: string): void {
  const button = element('button', { type: 'button' }, 'Copy');
  button.addEventListener('click', async () => {
    await navigator.clipboard?.writeText(find(id).textContent ?? '');
    say(button, navigator.clipboard === undefined ? 'Not allowed here' : 'Copied');
    setTimeout(() => say(button, 'Copy'), 1_500);
  });
  find(id).after(button);
}
