/**
 * Matches a path that the next server may read in another way: with a backslash, an encoded slash, dot, backslash or
 * percent sign, a doubled slash, or a segment that begins with a dot. For every gateway and service, nothing is there.
 */
export const oddPath = /%2f|%2e|%5c|%25|\/\/|\/\.|\\/i;
