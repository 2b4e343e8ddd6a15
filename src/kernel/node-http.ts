/**
 * The runtime's `node:http` without the namespace that an import of it makes: making one reads every export,
 * and those named `WebSocket`, `CloseEvent` and `MessageEvent` load the runtime's own client with HTTP/2.
 * That takes 37 ms and 15 MB.
 */
export const { createServer, request } = process.getBuiltinModule('node:http')
