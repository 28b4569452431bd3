"""deploy/kubernetes.yaml: valid for several versions of Kubernetes, and of one mind with the rest of deploy/."""

import copy
import re

import kubernetes_validate
import pytest
import yaml

from conftest import ROOT

MANIFEST = ROOT / "deploy/kubernetes.yaml"
OBJECTS = list(yaml.safe_load_all(MANIFEST.read_text()))
VERSIONS = ["1.31", "1.34", "1.37"]


def named(kind):
    (found,) = [each for each in OBJECTS if each["kind"] == kind]
    return found


def pod():
    return named("StatefulSet")["spec"]["template"]["spec"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("number", range(len(OBJECTS)))
def test_an_object_is_valid(number, version):
    kubernetes_validate.validate(OBJECTS[number], version, strict=True)


def test_the_check_sees_mistakes():
    wrong = copy.deepcopy(named("StatefulSet"))
    wrong["spec"]["template"]["spec"]["containers"][0]["readinessprobe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


def test_it_says_what_the_image_and_the_unit_say():
    (container,) = pod()["containers"]
    dockerfile = (ROOT / "deploy/Dockerfile").read_text()
    (user,) = re.findall(r"^USER (\d+):\d+$", dockerfile, re.M)
    assert pod()["securityContext"]["runAsUser"] == int(user)
    (grace,) = re.findall(r"^TimeoutStopSec=(\d+)$", (ROOT / "deploy/stadium.service").read_text(), re.M)
    assert pod()["terminationGracePeriodSeconds"] == int(grace)
    assert container["args"][0] == "serve" and container["image"].endswith("/stadium:" + version())


def version():
    (found,) = re.findall(r'^version = "([^"]+)"$', (ROOT / "Cargo.toml").read_text(), re.M)
    return found


def test_selectors_ports_and_volumes_meet():
    labels = named("StatefulSet")["spec"]["template"]["metadata"]["labels"]
    (container,) = pod()["containers"]
    ports = {port["name"] for port in container["ports"]}
    for service in [each for each in OBJECTS if each["kind"] == "Service"]:
        assert service["spec"]["selector"] == labels
        assert {port.get("targetPort", port["name"]) for port in service["spec"]["ports"]} <= ports
    claims = {claim["metadata"]["name"] for claim in named("StatefulSet")["spec"]["volumeClaimTemplates"]}
    volumes = claims | {volume["name"] for volume in pod()["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    assert named("StatefulSet")["spec"]["serviceName"] in {each["metadata"]["name"] for each in OBJECTS if each["kind"] == "Service"}


def test_it_fits_the_restricted_level_of_pod_security():
    security, (container,) = pod()["securityContext"], pod()["containers"]
    assert security["runAsNonRoot"] and security["seccompProfile"]["type"] == "RuntimeDefault"
    own = container["securityContext"]
    assert own["readOnlyRootFilesystem"] and own["allowPrivilegeEscalation"] is False and own["capabilities"] == {"drop": ["ALL"]}
