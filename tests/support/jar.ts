/**
 * A minimal browser for request tests: it keeps cookies, sends forms with the Origin a browser sends, follows
 * no redirects, and reads the hidden fields of a page. Every page is checked for what all must have.
 */
import assert from 'node:assert/strict'
import { request } from 'undici'

export interface PageAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** Where a redirect leads; null when it is none. */
  readonly location: string | null
  /**
   * The hidden fields of the last form on the page that has any: the one in its middle, after the sign-out
   * form.
   */
  readonly hidden: Readonly<Record<string, string>>
}

export type Fields = Readonly<Record<string, string | readonly string[]>>

export interface Jar {
  /** Name to value, as the server set them. */
  readonly cookies: Map<string, string>
  /** Every Set-Cookie header so far, with its attributes. */
  readonly setCookies: string[]
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<PageAnswer>
  /** Posts a form; `headers` override those a browser sends (an empty one is left out). */
  post(
    path: string,
    fields: Fields,
    headers?: Readonly<Record<string, string>>,
  ): Promise<PageAnswer>
}

/** A fresh profile; paths are resolved against `baseUrl`. */
export function makeJar(baseUrl: string): Jar {
  const cookies = new Map<string, string>()
  const setCookies: string[] = []

  async function send(
    method: 'GET' | 'POST',
    path: string,
    headers: Readonly<Record<string, string>>,
    body: string | null,
  ): Promise<PageAnswer> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const all = { ...(cookie === '' ? {} : { cookie }), ...headers }
    const given = Object.entries(all).filter(([, value]) => value !== '')
    const response = await request(new URL(path, baseUrl), {
      method,
      headers: Object.fromEntries(given),
      ...(body === null ? {} : { body }),
    })
    const text = await response.body.text()
    for (const line of [response.headers['set-cookie'] ?? []].flat()) {
      setCookies.push(line)
      keep(cookies, line)
    }
    const { location } = response.headers
    const answer: PageAnswer = {
      status: response.statusCode,
      headers: response.headers,
      text,
      location: typeof location === 'string' ? location : null,
      hidden: readHidden(text),
    }
    // The authorization server's own steps have rules and tests of their own.
    if (!path.startsWith('/authorize')) checkPage(answer)
    return answer
  }

  return {
    cookies,
    setCookies,
    get: (path, headers = {}) => send('GET', path, headers, null),
    post(path, fields, headers = {}) {
      const form = new URLSearchParams()
      for (const [name, value] of Object.entries(fields)) {
        for (const one of [value].flat()) form.append(name, one)
      }
      const browser = {
        origin: new URL(baseUrl).origin,
        'content-type': 'application/x-www-form-urlencoded',
      }
      return send('POST', path, { ...browser, ...headers }, form.toString())
    },
  }
}

function keep(cookies: Map<string, string>, line: string): void {
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
  if (/;\s*max-age=0/i.test(line)) cookies.delete(name)
  else cookies.set(name, value)
}

function readHidden(text: string): Record<string, string> {
  const forms = text.split('<form ')
  const fields = [
    ...(forms.findLast((form) => form.includes('type="hidden"')) ?? '').matchAll(
      /<input type="hidden" name="([^"]*)" value="([^"]*)">/g,
    ),
  ]
  return Object.fromEntries(fields.map(([, name = '', value = '']) => [name, fromEntities(value)]))
}

function fromEntities(text: string): string {
  return text.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&amp;', '&')
}

/** What every answer of the pages must have: no store, no frame, no sniffing, nothing inline. */
function checkPage({ status, headers, text }: PageAnswer): void {
  const type = String(headers['content-type'] ?? '')
  if (!type.startsWith('text/html') && status !== 303) return
  assert.equal(headers['cache-control'], 'no-store')
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['x-frame-options'], 'DENY')
  assert.equal(headers['referrer-policy'], 'same-origin')
  if (status === 303) return
  const policy = String(headers['content-security-policy'])
  assert.match(policy, /default-src 'none'/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.ok(!policy.includes('unsafe'), policy)
  const tags = (text.match(/<[a-z][^>]*>/gi) ?? []).join('\n')
  assert.doesNotMatch(tags, /<style|\sstyle=|\son[a-z]+=|javascript:/i)
  const scripts = text.match(/<script[^>]*>[^<]*/gi) ?? []
  for (const script of scripts) assert.match(script, /^<script src="\/assets\/[\w-]+\.js" defer>$/)
  assert.match(text, /<html lang="en">/)
  assert.equal(text.match(/<h1>/g)?.length, 1, 'one main heading')
}
