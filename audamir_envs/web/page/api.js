// Questions to the server.

export class Refused extends Error {}

export async function ask(name, question = {}, signal = undefined) {
  const answer = await fetch(`/api/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(question),
    signal,
  });
  const told = await answer.json();
  if (!answer.ok) throw new Refused(told.error ?? "the server failed");
  return told;
}

export function save(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

// Asks for a decision; resolves to the value of the button that was pressed, null for none.
export function decide(dialog, content, buttons) {
  return new Promise((resolve) => {
    dialog.replaceChildren(...content, buttons);
    dialog.addEventListener("close", () => resolve(dialog.returnValue || null), { once: true });
    dialog.returnValue = "";
    dialog.showModal();
  });
}
