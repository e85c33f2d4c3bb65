import { createHash } from 'node:crypto';

/**
 * The Content-Security-Policy of a page: it loads nothing but what its own service serves; of what is inline, the import map alone.
 * @param importMap the text of its script
 */
export function pagePolicy(importMap: string): string {
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${createHash('sha256').update(importMap).digest('base64')}'`,
    "style-src 'self'",
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
