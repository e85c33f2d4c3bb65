import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import { Marked } from 'marked';

/** A piece of HTML: texts in it are escaped. */
export type Html = string;

/** Where links between documents of the repository lead on the page; other files it cannot reach. */
const served: Readonly<Record<string, string>> = {
  'asyncapi.json': '/asyncapi.json',
  'openapi.json': '/openapi.json',
  'vectors.json': '/docs/vectors.json',
  '../http/README.md': '/docs/makers',
  '../events/README.md': '/docs/routers',
  '../evm/src/artifacts/LimitOrderProtocol.json': '/docs/limit-order-protocol.json',
  '../evm/src/artifacts/OrderFiller.json': '/docs/order-filler.json',
};

for (const [name, language] of Object.entries({ bash, javascript, json, python }))
  hljs.registerLanguage(name, language);

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
      const [language = '', ...caption] = lang.split(' ');
      const isKnown = hljs.getLanguage(language) !== undefined;
      const code = isKnown ? hljs.highlight(text, { language }).value : escapeHtml(text);
      const title = caption.length === 0 ? '' : `<figcaption>${escapeHtml(caption.join(' '))}</figcaption>`;
      const label = escapeHtml(caption.join(' ') || 'Code');
      // Whoever has no mouse scrolls what has the focus.
      return `<figure class="code">${title}<pre tabindex="0" role="group" aria-label="${label}"><code>${code}</code></pre></figure>\n`;
    },
  },
});

/** A document in Markdown as HTML. Links to files that the service does not serve become bare words. */
export function renderMarkdown(markdown: string): Html {
  return marked
    .parse(markdown, { async: false })
    .replaceAll('<table>', '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>')
    .replaceAll('</table>', '</table></div>');
}

/** A text as HTML. */
export function escapeHtml(text: string): Html {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** As GitHub names a heading. */
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
