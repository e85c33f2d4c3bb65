import cors from 'cors';
import type { RequestHandler } from 'express';
import { SERVER_TIME } from './send.js';

/** Response headers that a page may read, besides those that any page may read. */
const exposedHeaders = [
  'X-Request-Id',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'X-Read-Lag',
  'X-Next-Cursor',
  'X-List-Version',
  'X-Cancel-All-At',
  SERVER_TIME,
  'Server-Timing',
  'X-Log-Position',
  'X-Receipt',
  'X-Unseen-By',
  'Preference-Applied',
  'ETag',
];
/** The longest time that browsers accept. */
const PREFLIGHT_SECONDS = 7_200;

/**
 * Lets the pages of these origins call the API and read its answers (CORS). The API uses no cookies and no credentials,
 * so `*` is as safe as the API itself. Without origins, answers have no CORS headers.
 */
export function allowOrigins(origins: readonly string[]): RequestHandler[] {
  if (origins.length === 0) return [];
  return [
    cors({
      origin: origins.includes('*') ? '*' : [...origins],
      methods: ['GET', 'HEAD', 'POST', 'DELETE', 'PATCH'],
      exposedHeaders,
      maxAge: PREFLIGHT_SECONDS,
      // The route answers OPTIONS, and the client's limit counts it.
      preflightContinue: true,
    }),
  ];
}
