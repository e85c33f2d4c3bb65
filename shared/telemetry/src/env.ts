/** Gives the SDK the header fields for the collector. The SDK cannot read them from a file. */
export function setCollectorHeaders(headers: string): void {
  if (headers !== '') process.env['OTEL_EXPORTER_OTLP_HEADERS'] = headers;
}
