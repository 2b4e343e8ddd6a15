/** A person at the page of a bank, as the emulator of Enable Banking shows it. */
import { request } from 'undici'

/** The person agrees; the address to which the bank leads the browser back. */
export async function agreeAtBank(address: string): Promise<URL> {
  const page = new URL(address)
  const authorization = page.searchParams.get('authorization') ?? ''
  const answer = await request(`${page.origin}${page.pathname}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ authorization, decision: 'agree' }).toString(),
  })
  await answer.body.dump()
  return new URL(String(answer.headers.location))
}
