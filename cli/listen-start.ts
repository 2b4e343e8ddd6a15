/** How `tributary webhooks listen` is told whose events: by a user of the admin API, or by a key. */

export interface ListenByKeyStart {
  /** Null: TRIBUTARY_API_KEY has it. `-`: a line of standard input. */
  readonly key: string | null
  /** Null: TRIBUTARY_BASE_URL has it, else it is the server on this machine. */
  readonly baseUrl: string | null
  readonly json: boolean
}

export interface ListenWords extends ListenByKeyStart {
  /** Id or e-mail address; null: by a key. */
  readonly user: string | null
}

/** A text: what is wrong. */
export function readListenStart(
  { user, key, port, 'base-url': url }: Readonly<Record<string, unknown>>,
  json: boolean,
): (ListenWords & { readonly user: null }) | (ListenWords & { readonly user: string }) | string {
  const start = {
    key: typeof key === 'string' ? key : null,
    baseUrl: typeof url === 'string' ? url.replace(/\/+$/, '') : null,
    json,
  }
  if (user === undefined) {
    return port === undefined ? { ...start, user: null } : '--port goes with --user'
  }
  if (key !== undefined || url !== undefined) return '--user and a key exclude each other'
  if (typeof user !== 'string' || ['', '.', '..'].includes(user)) return '--user is missing'
  return { ...start, user }
}
