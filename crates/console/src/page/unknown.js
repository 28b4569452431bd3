// The page where there is none: it names the address and offers the way on.

import { at, show, showState } from "./console.js";

show("path", decodeURIComponent(location.pathname).slice(0, 256));
showState("lost", "Not found");
at("look").addEventListener("click", () => at("go-open").click());
