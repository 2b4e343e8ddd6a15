/** The 404 page for a person. It does not look up the session, so it costs almost nothing. */
import { pagePolicy } from '#auth/oauth/answers.ts'
import { readAssets } from './assets.ts'
import { renderPage } from './layout.ts'
import { renderNotice } from './notices.ts'

/** Renders it once: the bytes, and their content security policy. */
export async function makeUnknownPage() {
  const body = renderNotice(
    'There is nothing here',
    'No page of this server has that address. It may have been mistyped, or the link to it is old.',
  )
  const page = renderPage({ title: 'Not found', visit: null, body }, await readAssets())
  return { bytes: Buffer.from(page), policy: pagePolicy }
}
