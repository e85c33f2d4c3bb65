import hljs from 'highlight.js/lib/common';
import { Marked } from 'marked';

/** The links between documents of the repository that the pages can serve, with the paths here. */
const served: Readonly<Record<string, string>> = {
  'asyncapi.json': '/asyncapi.json',
  'openapi.json': '/openapi.json',
  'vectors.json': '/docs/vectors.json',
  '../http/README.md': '/docs/makers',
  '../events/README.md': '/docs/routers',
  '../evm/src/artifacts/LimitOrderProtocol.json': '/docs/limit-order-protocol.json',
  '../evm/src/artifacts/OrderFiller.json': '/docs/order-filler.json',
};

const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${idOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    link({ href, tokens }) {
      const target = targetOf(href);
      const words = this.parser.parseInline(tokens);
      return target === undefined ? words : `<a href="${escapeHtml(target)}">${words}</a>`;
    },
    code({ text, lang = '' }) {
      const [, name = '', caption = ''] = /^(\S*) ?(.*)$/.exec(lang) ?? [];
      const language = hljs.getLanguage(name) === undefined ? 'text' : name;
      const { value } = hljs.highlight(text, { language });
      const title = caption === '' ? '' : `<figcaption>${escapeHtml(caption)}</figcaption>`;
      const label = escapeHtml(caption || 'Code');
      // A focusable block can be scrolled without a mouse.
      return `<figure class="code">${title}<pre tabindex="0" role="group" aria-label="${label}"><code>${value}</code></pre></figure>\n`;
    },
  },
});

/** Renders a document in Markdown as HTML. Links to files that the service does not serve become plain text. */
export function renderMarkdown(markdown: string): string {
  return marked
    .parse(markdown, { async: false })
    .replaceAll('<table>', '<figure tabindex="0" role="group" aria-label="Table"><table>')
    .replaceAll('</table>', '</table></figure>');
}

/** Escapes a text for HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** The id that GitHub gives a heading. */
function idOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-');
}

function targetOf(href: string): string | undefined {
  if (/^(#|\/|https:)/.test(href)) return href;
  const [file = '', anchor] = href.split('#');
  const target = served[file];
  return target === undefined || anchor === undefined ? target : `${target}#${anchor}`;
}
