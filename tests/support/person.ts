/**
 * A person with a browser without scripts, for tests: keeps cookies, follows redirects, fills in the forms of
 * the pages. The test sets the decision on the consent page.
 */
import assert from 'node:assert/strict'
import { request } from 'undici'
import type { UserId } from '#kernel/ids.ts'
import type { Service } from './service.ts'

export interface Choice {
  /** The boxes left ticked; all offered ones by default. */
  readonly scopes?: readonly string[]
  readonly decision?: 'allow' | 'deny'
}

export interface Person {
  readonly email: string
  readonly id: UserId
  /** From a client's authorization URL to its redirect address. */
  approve(authorizationUrl: string | URL, choice?: Choice): Promise<URL>
  /** Fetches a page of ours, redirects followed. */
  visit(path: string): Promise<Page>
  /** Sends the form whose action begins with `action`, with these fields overriding its own. */
  submit(page: Page, action: string, fields: Fields): Promise<Page>
}

type Fields = Readonly<Record<string, string | readonly string[]>>

export interface Page {
  readonly url: URL
  readonly status: number
  readonly text: string
}

const password = 'correct horse battery'
const maxSteps = 10
let people = 0

/** Signs up through the page of the running service; the user is Professional in sandbox mode. */
export async function signUp(service: Service): Promise<Person> {
  people += 1
  const email = `person-at-browser-${people}@example.test`
  const browser = openBrowser(service.baseUrl)
  const form = await browser.go(`${service.baseUrl}/sign-up`)
  const done = await browser.submit(form, '/sign-up', { name: 'Test Person', email, password })
  assert.equal(done.status, 200, done.text)
  const user = await service.app.store.users.find(email)
  assert(user !== null)
  return {
    email,
    id: user.id,
    visit: (path) => browser.go(service.baseUrl + path),
    submit: (page, action, fields) => browser.submit(page, action, fields),
    async approve(authorizationUrl, choice = {}) {
      let page = await browser.go(String(authorizationUrl))
      if (page.url.pathname === '/sign-in') {
        page = await browser.submit(page, '/sign-in', { email, password })
      }
      assert.match(page.url.pathname, /^\/consent\//, page.text)
      const offered = [...page.text.matchAll(/name="scope" value="([^"]+)"/g)].map(
        ([, scope = '']) => scope,
      )
      const { scopes = offered, decision = 'allow' } = choice
      return (await browser.submit(page, '/consent/', { scope: scopes, decision })).url
    },
  }
}

/** A tab with its cookies; it stops at the first address that is not ours. */
function openBrowser(origin: string) {
  const cookies = new Map<string, { readonly value: string; readonly path: string }>()

  async function step(url: URL, fields: URLSearchParams | null) {
    const cookie = [...cookies]
      .filter(([, { path }]) => url.pathname.startsWith(path))
      .map(([name, { value }]) => `${name.split(' ')[0]}=${value}`)
      .join('; ')
    const answer = await request(url, {
      method: fields === null ? 'GET' : 'POST',
      headers: {
        ...(cookie === '' ? {} : { cookie }),
        ...(fields === null ? {} : { 'content-type': 'application/x-www-form-urlencoded', origin }),
      },
      ...(fields === null ? {} : { body: fields.toString() }),
    })
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      const path = /; path=([^;]*)/i.exec(line)?.[1] ?? '/'
      cookies.set(`${name} ${path}`, { value, path })
    }
    const text = await answer.body.text()
    return { status: answer.statusCode, location: answer.headers.location, text }
  }

  async function go(address: string, fields: URLSearchParams | null = null): Promise<Page> {
    let url = new URL(address)
    let body = fields
    for (let count = 0; count < maxSteps; count += 1) {
      if (url.origin !== origin) return { url, status: 0, text: '' }
      const { status, location, text } = await step(url, body)
      if (status !== 302 && status !== 303) return { url, status, text }
      url = new URL(String(location), url)
      body = null
    }
    assert.fail(`the redirects of ${address} have no end`)
  }

  return {
    go: (address: string) => go(address),
    submit(page: Page, action: string, laidOver: Fields): Promise<Page> {
      const form = [...page.text.matchAll(/<form [^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)]
      const found = form.find(([, target = '']) => target.startsWith(action))
      assert(found !== undefined, `no form for ${action} at ${page.url}: ${page.text}`)
      const fields = new URLSearchParams()
      const inputs = (found[2] ?? '').matchAll(/<input type="hidden"[^>]*>/g)
      for (const [input] of inputs) {
        const attribute = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(input)?.[1] ?? ''
        fields.append(attribute('name'), attribute('value'))
      }
      for (const [name, value] of Object.entries(laidOver)) {
        for (const one of [value].flat()) fields.append(name, one)
      }
      return go(new URL(found[1] ?? '', page.url).href, fields)
    },
  }
}
