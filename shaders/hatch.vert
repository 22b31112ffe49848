// As chunks, with lines at 45 degrees over the fill. They belong to the screen: neighbours continue each other.
// more: distance of lines along an axis, their width, 1 where they cross.
out vec2 p;
flat out vec4 box, inside, edge, line;
flat out vec3 form, lines;

void main() {
    float grow = ceil(shape.y * 0.5 + 1.0);
    p = mix(place.xy - grow, place.zw + grow, corner());
    box = place;
    inside = fill;
    edge = stroke;
    line = hatch;
    form = shape.xyz;
    lines = more.xyz;
    gl_Position = on_screen(p);
}
