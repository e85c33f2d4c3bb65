/** Gives the SDK the header fields for the collector. It knows no file of them. */
export function setCollectorHeaders(headers: string): void {
  if (headers !== '') process.env['OTEL_EXPORTER_OTLP_HEADERS'] = headers;
}
