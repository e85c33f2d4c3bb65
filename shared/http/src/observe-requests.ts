import { beginSpan, metrics, SpanKind, SpanStatusCode, traceOfRequest, withSpan } from '@makerbook/telemetry';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { internal } from './reply.js';

/** Notes about a request, in `response.locals`. */
export interface RequestNotes {
  requestId: string;
  /** When the handling of the request began, by `performance.now()`. */
  startedAt: number;
  /** Charges units to the client's address, under the limit of the route. */
  charge: (units: number) => Promise<void>;
  /** Frees the request's place among those under way. */
  release?: () => void;
  /** The code of the problem that was answered, or what it is measured as. */
  code?: string;
  /** True if the answer is a stream. The client decides how long it lasts. */
  isStream?: boolean;
  /** The maker; if the signature was not verified, the one that the request names. */
  maker?: string;
  /** The reader of the book. */
  reader?: string;
}

/** Methods that labels may have. A request's method and path may be anything, so attributes and labels are bounded. */
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE']);
export const PATH_CHARS_MAX = 200;
const SERVER_ERROR = 500;

/**
 * Records a SERVER span and the duration of each request, by OpenTelemetry's conventions for HTTP. The span belongs to
 * the trace that the request brought. The span has no query and no client address.
 */
export function observeRequests(): RequestHandler {
  const duration = metrics.getMeter('http').createHistogram('http.server.request.duration', {
    unit: 's',
    description:
      'Time from the request to the end of its answer; error_type: a 5xx or aborted; makerbook_error_code: of the problem, or cancel_only',
    advice: { explicitBucketBoundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] },
  });
  return (request: Request, response: Response, next: NextFunction) => {
    const notes = response.locals as RequestNotes;
    const { startedAt } = notes;
    const method = methods.has(request.method) ? request.method : '_OTHER';
    const parent = traceOfRequest(request.headers);
    const attributes = {
      'http.request.method': method,
      'url.path': request.url.split('?', 1)[0]?.slice(0, PATH_CHARS_MAX) ?? '',
      'url.scheme': request.protocol,
      'makerbook.request_id': notes.requestId,
    };
    const span = beginSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
    response.once('close', () => {
      const route: unknown = request.route?.path;
      // An answer that failed while it was sent began with another status.
      const status = notes.code === internal.code ? SERVER_ERROR : response.statusCode;
      const isAnswered = response.writableEnded || notes.isStream === true || status === SERVER_ERROR;
      const isFailed = !isAnswered || status >= SERVER_ERROR;
      const outcome = {
        ...(typeof route === 'string' ? { 'http.route': route } : {}),
        ...(isAnswered ? { 'http.response.status_code': status } : {}),
        ...(notes.code === undefined ? {} : { 'makerbook.error_code': notes.code }),
        ...(isFailed ? { 'error.type': isAnswered ? String(status) : 'aborted' } : {}),
      };
      if (!notes.isStream || isFailed)
        duration.record((performance.now() - startedAt) / 1000, { 'http.request.method': method, ...outcome });
      span.setAttributes(outcome);
      if (typeof route === 'string') span.updateName(`${method} ${route}`);
      if (isFailed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
    withSpan(span, parent, next);
  };
}
