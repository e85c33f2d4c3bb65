import { stringify } from 'yaml';

/** Writes YAML 1.1, which Helm reads. A bare `on` is true there, so it quotes such words. */
export const writeYaml = (object: object): string =>
  stringify(object, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false });

/** A line of YAML that is a mark. `lead` is its blanks and dash. `indent` is the column where its key begins. */
interface Line {
  readonly lead: string;
  readonly indent: number;
  readonly key: string;
}

type Mark = string | ((line: Line) => string);

/**
 * Writes an object as a template of Helm. Where a value comes from the values of the chart, the object holds a mark,
 * which becomes an expression. The object's own braces (for Prometheus, for Grafana) stay as they are.
 */
export class TemplateWriter {
  readonly #marks: Mark[] = [];

  /** Marks a value within a line. */
  inline(expression: string): string {
    return this.#mark(`{{ ${expression} }}`);
  }

  /** Marks a map or a list below a key. */
  block(value: string): string {
    return this.#mark(({ lead, indent, key }) => `${lead}${key}: {{- toYaml ${value} | nindent ${indent + 2} }}`);
  }

  /** Like `block`, but leaves out the key if the value is empty. */
  optional(value: string): string {
    return this.#mark(({ lead, indent, key }) =>
      unlessEmpty(value, `${lead}${key}: {{- toYaml . | nindent ${indent + 2} }}`),
    );
  }

  /** Marks the place for more items of a list. */
  items(value: string): string {
    return this.#mark(({ indent }) => unlessEmpty(value, `{{- toYaml . | nindent ${indent - 2} }}`));
  }

  /** Marks a map with entries of the chart and of the user. */
  withEntries(entries: readonly string[], value: string): string {
    return this.#mark(({ lead, indent, key }) => {
      const own = entries.map((entry) => `${' '.repeat(indent + 2)}${entry}\n`).join('');
      return `${lead}${key}:\n${own}${unlessEmpty(value, `{{- toYaml . | nindent ${indent + 2} }}`)}`;
    });
  }

  /** Marks a key that is there, with its value, only under a condition. */
  when(condition: string, expression: string): string {
    return this.#mark(({ lead, key }) => `{{- if ${condition} }}\n${lead}${key}: {{ ${expression} }}\n{{- end }}`);
  }

  write(object: object): string {
    const text = stringify(object, { lineWidth: 0, aliasDuplicateObjects: false });
    return text
      .split('\n')
      .map((line) => this.#writeLine(line.replaceAll('{{', '{{ "{{" }}')))
      .join('\n');
  }

  #mark(mark: Mark): string {
    this.#marks.push(mark);
    return `HELM${this.#marks.length - 1}MARK`;
  }

  #writeLine(line: string): string {
    const [, blanks = '', dash = '', key = '', number] = /^( *)(- )?(?:([\w./-]+): )?HELM(\d+)MARK$/.exec(line) ?? [];
    const mark = this.#marks[Number(number)];
    if (typeof mark === 'function') return mark({ lead: blanks + dash, indent: blanks.length + dash.length, key });
    return line.replaceAll(/HELM(\d+)MARK/g, (_, at: string) => String(this.#marks[Number(at)]));
  }
}

function unlessEmpty(value: string, body: string): string {
  return `{{- with ${value} }}\n${body}\n{{- end }}`;
}
