import { rights } from '../grant-rights.js';

/** The rights of the services' roles as a table for README.md. */
export function describeRights(): string {
  const code = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ');
  const rows = Object.entries(rights).map(([role, { reads, writes }]) => {
    const all = Object.entries(writes);
    const kinds = [...new Set(all.map(([, words]) => words))];
    const told = kinds.map((words) => {
      const tables = code(all.filter(([, own]) => own === words).map(([table]) => table));
      return words === 'insert, update, delete' ? tables : `${words}: ${tables}`;
    });
    return `| \`${role}\` | ${code(reads)} | ${told.join('; ') || '–'} |`;
  });
  return ['| role | reads | writes |', '|---|---|---|', ...rows].join('\n');
}
