/**
 * A path that somebody behind may read in another way: with an encoded slash, dot, backslash or percent sign, a doubled
 * slash, or a segment that begins with a dot. It leads nowhere, for every gateway and service.
 */
export const oddPath = /%2f|%2e|%5c|%25|\/\/|\/\.|\\/i;
