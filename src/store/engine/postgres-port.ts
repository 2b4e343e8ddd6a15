/** Whether the port of `DATABASE_URL` speaks TLS from the first byte: it ends any other connection. */
import { parseServerUrl } from '#kernel/server-url.ts'
import { isCertificateRefusal } from '../failure.ts'
import { speaksTls } from '../port-protocol.ts'
import { sqlState } from './postgres-failure.ts'

/** The sentence for an operator, with what to do; null: the failure has another reason. */
export async function explainTlsPort(databaseUrl: string, cause: unknown): Promise<string | null> {
  const { host, url } = parseServerUrl(databaseUrl) ?? { host: '', url: null }
  if (url === null || host === '' || isTold(cause)) return null
  if (url.searchParams.has('host') || url.searchParams.has('sslnegotiation')) return null
  const port = Number(url.searchParams.get('port') ?? (url.port || 5432))
  if (!(await speaksTls({ host: url.hostname, port }))) return null
  return `PostgreSQL does not answer at ${host}: this port speaks TLS from the first byte. Name the port of PostgreSQL itself in DATABASE_URL, or add \`?sslmode=verify-full&sslnegotiation=direct\``
}

/** The server or its certificate gave a reason. */
function isTold(cause: unknown): boolean {
  const error = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  return sqlState(error) !== null || (error instanceof Error && isCertificateRefusal(error))
}
