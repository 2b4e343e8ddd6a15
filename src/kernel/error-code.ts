/** The code of an error of Node, a library or a database. */

/** `ENOENT`, `UND_ERR_SOCKET` or `40001`, say; empty: it has none. */
export function errorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  return typeof code === 'string' ? code : ''
}
