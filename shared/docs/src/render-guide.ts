import { Marked } from 'marked';
import { codeBlock, type Html } from './render-html.js';

/** Of what the page has the guide point to; what lies elsewhere in the repository it cannot reach. */
const served: Readonly<Record<string, string>> = { 'asyncapi.json': '/asyncapi.json' };

/**
 * A guide in Markdown as a part of the page: its title is left out, its headings stand one level below the page's, and links
 * to files that the service does not serve are bare words.
 */
export function renderGuide(markdown: string): Html {
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        if (depth === 1) return '';
        return `<h${depth + 1} id="${idOf(text)}">${this.parser.parseInline(tokens)}</h${depth + 1}>\n`;
      },
      link({ href, tokens }) {
        const target = href.startsWith('#') ? `#${idOf(href.slice(1))}` : served[href];
        const words = this.parser.parseInline(tokens);
        return target === undefined ? words : `<a href="${target}">${words}</a>`;
      },
      code: ({ text, lang = '' }) => codeBlock(lang, text),
    },
  });
  const html = marked.parse(markdown, { async: false });
  return html.replaceAll('<table>', '<div class="scroll"><table>').replaceAll('</table>', '</table></div>');
}

/** As GitHub names a heading; apart from the other places of the page. */
function idOf(heading: string): string {
  return `router-${heading
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-')}`;
}
