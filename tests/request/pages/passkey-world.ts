/** Passkeys in request tests: pages under the name localhost, and what they ask a browser for. */
import assert from 'node:assert/strict'
import {
  type AskedPublicKey,
  type Lies,
  makeSoftPasskey,
  type SoftPasskey,
} from '#tests/support/authenticator.ts'
import { type Jar, makeJar, type PageAnswer } from '#tests/support/jar.ts'
import { type PagesWorld, type Person, password, signIn } from './world.ts'

export const passkeysPath = '/settings/passkeys'
export const signInPath = '/sign-in/passkey'

/** Browsers have no passkeys for an IP address. */
export const homeOf = ({ service }: PagesWorld): string =>
  service.baseUrl.replace('127.0.0.1', 'localhost')

/** A fresh browser that opens pages under the name. */
export const namedJar = (world: PagesWorld): Jar => makeJar(homeOf(world))

export async function enterByName(world: PagesWorld, { email }: Person): Promise<Jar> {
  const jar = namedJar(world)
  const answer = await signIn(jar, { email, password })
  assert.equal(answer.status, 303, answer.text)
  return jar
}

const decode = (text: string) =>
  text.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&amp;', '&')

const attribute = (text: string, name: string) =>
  decode(new RegExp(` data-${name}="([^"]*)"`).exec(text)?.[1] ?? '')

/** What a page asks the browser for, and the hidden fields of its form. */
export interface AskedPage {
  readonly publicKey: AskedPublicKey
  readonly fields: Readonly<Record<string, string>>
}

/** Null: the page offers no passkey. */
export function readAsked({ text, hidden }: PageAnswer): AskedPage | null {
  const request = attribute(text, 'request')
  if (request === '') return null
  const fields = attribute(text, 'fields')
  return {
    publicKey: JSON.parse(request) as AskedPublicKey,
    fields: fields === '' ? hidden : (JSON.parse(fields) as Record<string, string>),
  }
}

export function mustAsk(page: PageAnswer): AskedPage {
  const asked = readAsked(page)
  assert(asked !== null, page.text)
  return asked
}

/** Adds a passkey in this browser, whose person gave the password just now. */
export async function addPasskey(
  world: PagesWorld,
  jar: Jar,
  { name = 'laptop', counts = false }: { readonly name?: string; readonly counts?: boolean } = {},
): Promise<{ readonly passkey: SoftPasskey; readonly answer: PageAnswer }> {
  const { publicKey, fields } = mustAsk(await jar.get(passkeysPath))
  const passkey = makeSoftPasskey(publicKey, homeOf(world), { counts })
  const form = { ...fields, name, credential: passkey.attestation }
  const answer = await jar.post(passkeysPath, form)
  assert.equal(answer.status, 303, answer.text)
  return { passkey, answer }
}

/** The recovery codes that the page shows once. */
export async function readCodes(jar: Jar): Promise<readonly string[]> {
  const { text } = await jar.get('/settings/second-factor')
  const shown = /<output name="secret"[^>]*>([^<]*)<\/output>/.exec(text)?.[1] ?? ''
  return shown === '' ? [] : shown.split('\n')
}

/** A person with one passkey, the browser in which it was added, and the recovery codes. */
export async function addSafePerson(
  world: PagesWorld,
  options: { readonly counts?: boolean } = {},
) {
  const person = await world.addPerson()
  const jar = await enterByName(world, person)
  const { passkey } = await addPasskey(world, jar, options)
  return { person, jar, passkey, codes: await readCodes(jar) }
}

/** Gives the passkey on the sign-in page of a fresh browser. */
export async function givePasskey(world: PagesWorld, passkey: SoftPasskey, lies: Lies = {}) {
  const jar = namedJar(world)
  const { publicKey, fields } = mustAsk(await jar.get('/sign-in?return=%2Fkeys'))
  const form = { ...fields, credential: passkey.answer(publicKey, lies) }
  return { jar, form, answer: await jar.post(signInPath, form) }
}

/** The password in a fresh browser; the page of the second step. */
export async function arriveAtStep(world: PagesWorld, { email }: Person) {
  const jar = namedJar(world)
  const answer = await signIn(jar, { email, password }, '/sign-in?return=%2Fkeys')
  assert.match(answer.location ?? '', /^\/sign-in\/code\?/)
  return { jar, page: await jar.get(answer.location ?? '') }
}

/** The newest entries about a person, with their details. */
export async function readTrail({ service }: PagesWorld, { id }: Person): Promise<string[]> {
  const rows = await service.app.store.auditLog.list({ userId: id, after: null, limit: 50 })
  return rows.map(({ action, facts }) => `${action} ${JSON.stringify(facts?.details)}`)
}
