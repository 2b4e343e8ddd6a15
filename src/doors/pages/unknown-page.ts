/**
 * The 404 page for a person. It does not look up the session, so it costs almost nothing: whose browser has
 * one is led on by the navigation, which says nothing of the person.
 */
import { pagePolicy } from '#auth/oauth/answers.ts'
import { readAssets } from './assets.ts'
import { hasSession } from './cookies.ts'
import { renderPage } from './layout.ts'
import { renderNotice } from './notices.ts'

/** A constant page: its bytes, and their content security policy. */
interface UnknownPage {
  readonly bytes: Uint8Array
  readonly policy: string
}

/** Renders it once. @returns the page for a request with this `Cookie` header. */
export async function makeUnknownPage(options: {
  readonly plansAreSold: boolean
  /** All data on this server is made up. */
  readonly isSandbox: boolean
}): Promise<(cookies: string | undefined) => UnknownPage> {
  const assets = await readAssets()
  const body = renderNotice(
    'There is nothing here',
    'No page of this server has that address. It may have been mistyped, or the link to it is old.',
  )
  const render = (hasSections: boolean): UnknownPage => {
    const page = renderPage(
      { ...options, title: 'Not found', visit: null, body, hasSections },
      assets,
    )
    return { bytes: Buffer.from(page), policy: pagePolicy }
  }
  const [ofVisitors, ofPeople] = [render(false), render(true)]
  return (cookies) => (hasSession(cookies) ? ofPeople : ofVisitors)
}
